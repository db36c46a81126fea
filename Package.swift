// swift-tools-version: 6.2

import PackageDescription

/// What every Swift target is compiled with: Swift 6 mode, strict memory safety, and the upcoming
/// features that make an import or an existential say what it costs.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "FrameSocket",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "TurboJPEG", targets: ["TurboJPEG"]),
        .library(name: "FrameWire", targets: ["FrameWire"]),
        .library(name: "FrameTransport", targets: ["FrameTransport"]),
        .library(name: "FrameSocket", targets: ["FrameSocket"]),
        .library(name: "FrameSocketApple", targets: ["FrameSocketApple"]),
        .executable(name: "framesocket", targets: ["FrameSocketTool"]),
        .executable(name: "framesocket-bench", targets: ["FrameSocketBenchmarks"]),
    ],
    targets: [
        // C libraries of the system, each hidden behind one Swift target.
        .systemLibrary(
            name: "CTurboJPEG",
            pkgConfig: "libturbojpeg",
            providers: [.apt(["libturbojpeg0-dev"]), .brew(["jpeg-turbo"])]
        ),
        .systemLibrary(name: "CYUV", providers: [.apt(["libyuv-dev"])]),
        .systemLibrary(
            name: "CPNG",
            pkgConfig: "libpng",
            providers: [.apt(["libpng-dev"]), .brew(["libpng"])]
        ),
        .systemLibrary(
            name: "CSpeexDSP",
            pkgConfig: "speexdsp",
            providers: [.apt(["libspeexdsp-dev"]), .brew(["speexdsp"])]
        ),

        // The library, from the bytes up.
        .target(name: "Locking", swiftSettings: settings),
        .target(name: "TurboJPEG", dependencies: ["CTurboJPEG", "Locking"], swiftSettings: settings),
        .target(name: "FrameWire", swiftSettings: settings),
        .target(name: "CFrameTransport"),
        .target(
            name: "FrameTransport",
            dependencies: ["FrameWire", "CFrameTransport", "Locking"],
            swiftSettings: settings
        ),
        .target(
            name: "FrameSocket",
            dependencies: ["TurboJPEG", "FrameWire", "FrameTransport", "Locking", "CYUV", "CSpeexDSP"],
            swiftSettings: settings
        ),
        .target(name: "FrameSocketApple", dependencies: ["FrameSocket", "Locking"], swiftSettings: settings),

        // The programs, and what only they and the tests need.
        // Loads libmicrohttpd when it is used (apt: libmicrohttpd-dev), so that it is not linked.
        .target(name: "CMicroHTTPD"),
        .target(name: "PNGReading", dependencies: ["TurboJPEG", "CPNG"], swiftSettings: settings),
        .executableTarget(
            name: "FrameSocketTool",
            dependencies: ["FrameSocket", "Locking", "PNGReading", "CMicroHTTPD"],
            swiftSettings: settings
        ),
        .target(name: "CBaseline", dependencies: ["CTurboJPEG"]),
        .executableTarget(
            name: "FrameSocketBenchmarks",
            dependencies: ["FrameSocket", "Locking", "PNGReading", "CBaseline"],
            swiftSettings: settings
        ),

        .testTarget(name: "TurboJPEGTests", dependencies: ["TurboJPEG"], swiftSettings: settings),
        .testTarget(name: "FrameWireTests", dependencies: ["FrameWire"], swiftSettings: settings),
        .testTarget(name: "FrameTransportTests", dependencies: ["FrameTransport"], swiftSettings: settings),
        .testTarget(
            name: "FrameSocketTests",
            dependencies: ["FrameSocket", "Locking", "PNGReading"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FrameSocketAppleTests",
            dependencies: ["FrameSocketApple", "FrameSocket"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CommandLineTests",
            dependencies: ["FrameSocketTool", "FrameSocket"],
            swiftSettings: settings
        ),
    ]
)

// `make fuzz`: each is a libFuzzer program, and built by no other target.
if Context.environment["FUZZ"] != nil {
    let fuzzers: [(name: String, dependencies: [Target.Dependency], excluded: [String])] = [
        ("FuzzMessages", ["FrameWire"], []),
        ("FuzzControl", ["FrameWire"], []),
        ("FuzzTokens", ["FrameTransport"], []),
        ("FuzzJPEG", ["TurboJPEG"], []),
        ("FuzzPixels", ["FrameSocket", "TurboJPEG"], []),
        // The program's own sources, but for where it begins.
        ("FuzzOptions", ["FrameSocket", "Locking", "PNGReading", "CMicroHTTPD"], ["Tool/FrameSocketTool.swift"]),
    ]
    // Images end at a page that nobody may touch.
    package.targets.first { $0.name == "TurboJPEG" }?.swiftSettings?.append(.define("GUARDED_PIXELS"))
    package.targets += fuzzers.map {
        .executableTarget(
            name: $0.name,
            dependencies: $0.dependencies,
            path: "Tests/Fuzz/\($0.name)",
            exclude: $0.excluded,
            swiftSettings: settings
        )
    }
}

// Of use to `make soak` alone.
if Context.environment["SOAK"] != nil {
    package.targets.append(
        .executableTarget(
            name: "FrameSocketSoak",
            dependencies: ["FrameSocket"],
            path: "Tests/Soak",
            swiftSettings: settings
        )
    )
}

// Of use to `make simulate` alone.
if Context.environment["SIMULATE"] != nil {
    package.targets.append(
        .executableTarget(
            name: "FrameSocketSimulation",
            dependencies: ["FrameSocket", "FrameTransport", "FrameWire"],
            path: "Tests/Simulation",
            exclude: ["Mutants"],
            swiftSettings: settings
        )
    )
}
