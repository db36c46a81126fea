// swift-tools-version: 6.2

import PackageDescription

/// Shares an X11 screen, a monitor or a window; `make examples` builds it, and runs it under Xvfb.
let package = Package(
    name: "ScreenCapture",
    // Named, since the directory of a clone may have any name.
    dependencies: [.package(name: "FrameSocket", path: "../..")],
    targets: [
        // The extensions of X come from one source package, so one name is enough for pkg-config to find them all.
        .systemLibrary(
            name: "CXCB",
            pkgConfig: "xcb",
            providers: [
                .apt([
                    "libxcb1-dev", "libxcb-shm0-dev", "libxcb-damage0-dev", "libxcb-xfixes0-dev", "libxcb-randr0-dev",
                    "libxcb-xinput-dev",
                ])
            ]
        ),
        .executableTarget(
            name: "ScreenCapture",
            dependencies: ["CXCB", .product(name: "FrameSocket", package: "FrameSocket")],
            swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
        ),
    ],
    swiftLanguageModes: [.v6]
)
