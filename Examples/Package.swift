// swift-tools-version: 6.2

import PackageDescription

/// Small programs to start from; `make examples` builds and runs them.
let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    // Named, since the directory of a clone may have any name.
    dependencies: [.package(name: "FrameSocket", path: "..")],
    targets: [
        // The program of the article "Getting started", which scripts/check-examples compares it with.
        .executableTarget(
            name: "GettingStarted",
            dependencies: [.product(name: "FrameSocket", package: "FrameSocket")]
        ),
        // The first program of the article "Send frames", which scripts/check-examples compares it with.
        .executableTarget(
            name: "SendOneFrame",
            dependencies: [.product(name: "FrameSocket", package: "FrameSocket")]
        ),
        .executableTarget(
            name: "ReceiveJPEGs",
            dependencies: [.product(name: "FrameTransport", package: "FrameSocket")]
        ),
        .executableTarget(
            name: "SyntheticScreen",
            dependencies: [.product(name: "FrameSocket", package: "FrameSocket")]
        ),
        .executableTarget(
            name: "IngestService",
            dependencies: [.product(name: "FrameSocket", package: "FrameSocket")]
        ),
    ],
    swiftLanguageModes: [.v6]
)
