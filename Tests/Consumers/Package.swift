// swift-tools-version: 6.2

import PackageDescription

/// One product of FrameSocket, whose name is given because the directory of a clone may have any.
func product(_ name: String) -> Target.Dependency {
    .product(name: name, package: "FrameSocket")
}

/// A package outside of FrameSocket that depends on it as any user's would; `scripts/check-consumers` builds it, runs
/// its programs, and looks at what they link.
let package = Package(
    name: "Consumers",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "FrameSocket", path: "../..")],
    targets: [
        .executableTarget(name: "WireOnly", dependencies: [product("FrameWire")]),
        .executableTarget(name: "TransportOnly", dependencies: [product("FrameTransport")]),
        .executableTarget(name: "CodecOnly", dependencies: [product("TurboJPEG")]),
        .executableTarget(name: "Everything", dependencies: [product("FrameSocket")]),
        .executableTarget(name: "AppleOnly", dependencies: [product("FrameSocketApple")]),
        .executableTarget(name: "JitsiOnly", dependencies: [product("FrameSocketJitsi")]),
        .executableTarget(name: "WithPeer", dependencies: [product("FrameSocketTesting"), product("FrameTransport")]),
        // The protocol and the function of swift-service-lifecycle that the article on ending uses.
        .target(name: "ServiceLifecycle"),
        .executableTarget(name: "InService", dependencies: ["ServiceLifecycle", product("FrameTransport")]),
        .executableTarget(name: "Audio", dependencies: [product("FrameSocketAudio"), product("FrameSocket")]),
    ]
)
