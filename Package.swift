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

/// The `pkg-config` file of a library that not every product needs.
///
/// SwiftPM looks for those of all targets, and warns an importer about libraries that its own products do not use. Only
/// Homebrew needs them, as its headers are outside the compiler's search paths.
func pkgConfigOfHomebrew(_ name: String) -> String? {
    #if os(macOS)
        name
    #else
        nil
    #endif
}

/// The folder in this package of XCFrameworks that take the place of the system's libraries, as docs/apple.md describes.
let frameworks = Context.environment["FRAMESOCKET_XCFRAMEWORKS"]

/// Whether the privacy manifest is a resource. Elsewhere it would only make SwiftPM link Foundation for the bundle.
#if os(macOS)
    let hasPrivacyManifest = true
#else
    let hasPrivacyManifest = frameworks != nil
#endif

let package = Package(
    name: "FrameSocket",
    platforms: [.macOS(.v13), .iOS(.v16), .visionOS(.v1)],
    products: [
        .library(name: "TurboJPEG", targets: ["TurboJPEG"]),
        .library(name: "FrameWire", targets: ["FrameWire"]),
        .library(name: "FrameTransport", targets: ["FrameTransport"]),
        .library(name: "FrameSocket", targets: ["FrameSocket"]),
        .library(name: "FrameSocketAudio", targets: ["FrameSocketAudio"]),
        .library(name: "FrameSocketApple", targets: ["FrameSocketApple"]),
        .library(name: "FrameSocketJitsi", targets: ["FrameSocketJitsi"]),
        .library(name: "FrameSocketTesting", targets: ["FrameSocketTesting"]),
        .executable(name: "framesocket", targets: ["FrameSocketTool"]),
        .executable(name: "framesocket-bench", targets: ["FrameSocketBenchmarks"]),
    ],
    targets: [
        // C libraries of the system, each hidden behind one Swift target. A missing header is an error of the module's
        // shim.h, which names the package to install.
        .systemLibrary(
            name: "CTurboJPEG",
            pkgConfig: "libturbojpeg",
            providers: [.apt(["libturbojpeg0-dev"]), .brew(["jpeg-turbo"])]
        ),
        .systemLibrary(
            name: "CJPEG",
            pkgConfig: "libjpeg",
            providers: [.apt(["libjpeg-dev"]), .brew(["jpeg-turbo"])]
        ),
        .systemLibrary(name: "CYUV", providers: [.apt(["libyuv-dev"])]),
        .systemLibrary(
            name: "CPNG",
            pkgConfig: pkgConfigOfHomebrew("libpng"),
            providers: [.apt(["libpng-dev"]), .brew(["libpng"])]
        ),
        .systemLibrary(
            name: "CSpeexDSP",
            pkgConfig: pkgConfigOfHomebrew("speexdsp"),
            providers: [.apt(["libspeexdsp-dev"]), .brew(["speexdsp"])]
        ),

        // The library, from the bytes up.
        .target(name: "Locking", swiftSettings: settings),
        .target(name: "ErrorShape", swiftSettings: settings),
        .target(name: "SystemMemory", dependencies: ["Locking"], swiftSettings: settings),
        // Exported by TurboJPEG, whose images have a format, and by FrameWire, whose headers state it.
        .target(name: "PixelFormats", swiftSettings: settings),
        // The library by name too: SwiftPM keeps what pkg-config said, also if the package was installed after the first build.
        .target(
            name: "CJPEGStrips",
            dependencies: ["CJPEG"],
            linkerSettings: [.linkedLibrary("jpeg", .when(platforms: [.linux]))]
        ),
        .target(
            name: "TurboJPEG",
            dependencies: ["PixelFormats", "CTurboJPEG", "CJPEGStrips", "ErrorShape", "Locking", "SystemMemory"],
            swiftSettings: settings
        ),
        .target(name: "FrameWire", dependencies: ["PixelFormats", "ErrorShape"], swiftSettings: settings),
        .target(name: "CFrameTransport"),
        .target(
            name: "FrameTransport",
            dependencies: ["FrameWire", "CFrameTransport", "ErrorShape", "Locking", "SystemMemory"],
            swiftSettings: settings
        ),
        .target(
            name: "FrameSocket",
            dependencies: ["TurboJPEG", "FrameWire", "FrameTransport", "ErrorShape", "Locking", "CYUV"],
            swiftSettings: settings
        ),
        .target(
            name: "FrameSocketAudio",
            dependencies: ["FrameSocket", "Locking", "CSpeexDSP"],
            swiftSettings: settings
        ),
        .target(
            name: "FrameSocketApple",
            dependencies: ["FrameSocket", "Locking"],
            exclude: hasPrivacyManifest ? [] : ["PrivacyInfo.xcprivacy"],
            resources: hasPrivacyManifest ? [.copy("PrivacyInfo.xcprivacy")] : [],
            swiftSettings: settings
        ),
        // The names of the files that Jitsi's handbook has an extension copy.
        .target(
            name: "FrameSocketJitsi",
            dependencies: ["FrameSocketApple", "FrameSocket", "FrameTransport", "FrameWire", "Locking"],
            swiftSettings: settings
        ),

        // For tests of programs, and our own.
        .target(name: "CRecordedStreams"),
        .target(
            name: "FrameSocketTesting",
            dependencies: ["FrameTransport", "ErrorShape", "Locking", "CRecordedStreams"],
            swiftSettings: settings
        ),

        // The programs, and what only they and the tests need.
        // Loads libmicrohttpd when it is used (apt: libmicrohttpd-dev), so that it is not linked.
        .target(name: "CMicroHTTPD"),
        // How JPEGs are found in a stream.
        .target(name: "JPEGStreams", swiftSettings: settings),
        // The same for libsndfile (apt: libsndfile1-dev), which `send --audio` needs.
        .target(name: "CSndFile"),
        .target(
            name: "CPNGRows",
            dependencies: ["CPNG"],
            linkerSettings: [.linkedLibrary("png", .when(platforms: [.linux]))]
        ),
        .target(name: "PNGReading", dependencies: ["TurboJPEG", "CPNGRows"], swiftSettings: settings),
        .executableTarget(
            name: "FrameSocketTool",
            dependencies: ["FrameSocket", "Locking", "JPEGStreams", "PNGReading", "CMicroHTTPD", "CSndFile"],
            swiftSettings: settings
        ),
        .target(name: "CBaseline", dependencies: ["CTurboJPEG"]),
        .executableTarget(
            name: "FrameSocketBenchmarks",
            dependencies: ["FrameSocket", "Locking", "PNGReading", "CBaseline"],
            swiftSettings: settings
        ),

        // What several test targets need, and how arguments of any test are described.
        .target(
            name: "TestSupport",
            dependencies: ["TurboJPEG", "FrameWire", "FrameTransport", "FrameSocketTesting"],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "TestDescriptions",
            dependencies: ["FrameSocket"],
            path: "Tests/TestDescriptions",
            swiftSettings: settings
        ),
        .testTarget(
            name: "TurboJPEGTests",
            dependencies: ["TurboJPEG", "TestSupport", "TestDescriptions"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FrameWireTests",
            dependencies: ["FrameWire", "TestSupport", "TestDescriptions"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FrameTransportTests",
            dependencies: ["FrameTransport", "FrameSocketTesting", "Locking", "TestSupport", "TestDescriptions"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FrameSocketTestingTests",
            dependencies: ["FrameSocketTesting", "FrameSocket", "TestSupport", "TestDescriptions"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FrameSocketTests",
            dependencies: [
                "FrameSocket", "FrameSocketTesting", "Locking", "PNGReading", "TestSupport", "TestDescriptions",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FrameSocketAudioTests",
            dependencies: ["FrameSocketAudio", "FrameSocket", "TestSupport", "TestDescriptions"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FrameSocketAppleTests",
            dependencies: [
                "FrameSocketApple", "FrameSocket", "FrameSocketTesting", "Locking", "TestSupport", "TestDescriptions",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FrameSocketJitsiTests",
            dependencies: [
                "FrameSocketJitsi", "FrameSocketApple", "FrameSocket", "FrameSocketTesting", "Locking", "TestSupport",
                "TestDescriptions",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "FrameSocketTool", "FrameSocket", "FrameSocketAudio", "FrameSocketTesting", "JPEGStreams",
                "TestSupport",
                "TestDescriptions",
            ],
            swiftSettings: settings
        ),
    ]
)

// For iOS, which has neither the system's libraries nor a use for the programs: the libraries alone, on XCFrameworks.
if let frameworks {
    var libraries = package.products.compactMap { $0 as? Product.Library }
    if Context.environment["FRAMESOCKET_WITHOUT_AUDIO"] != nil { libraries.removeAll { $0.name == "FrameSocketAudio" } }
    var names = libraries.flatMap(\.targets)
    var needed: Set<String> = []
    while let name = names.popLast() {
        guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else {
            continue
        }
        for case .byNameItem(let dependency, _) in target.dependencies { names.append(dependency) }
    }
    package.products = libraries
    package.targets = package.targets.filter { needed.contains($0.name) }.map { target in
        guard target.type == .system else { return target }
        return .binaryTarget(name: target.name, path: "\(frameworks)/\(target.name).xcframework")
    }
}

// `make test TARGETS=...`, `make sanitize TARGETS=...`: these test targets alone, and no programs unless they are tested, which is
// less than half of the work.
if let names = Context.environment["TEST_TARGETS"]?.split(separator: " ").map(String.init) {
    let needsPrograms = names.contains("CommandLineTests")
    package.products.removeAll { $0 is Product.Executable && !needsPrograms }
    package.targets.removeAll { target in
        target.type == .executable && !needsPrograms || target.type == .test && !names.contains(target.name)
    }
}

// `make kqueue`: what Apple's systems run, on Linux; no task prefers a thread, as on the older ones.
if Context.environment["KQUEUE"] != nil {
    package.targets.append(.target(name: "KernelQueue", path: "Tests/KernelQueue"))
    for target in package.targets where target.name == "CFrameTransport" {
        target.dependencies = ["KernelQueue"]
        target.cSettings = [.define("KQUEUE_OVER_EPOLL")]
    }
    for target in package.targets where target.name == "FrameTransport" {
        target.swiftSettings?.append(.define("WITHOUT_TASK_EXECUTORS"))
    }
}

// `make fuzz`: each is a libFuzzer program, and built by no other target.
if Context.environment["FUZZ"] != nil {
    let fuzzers: [(name: String, dependencies: [Target.Dependency], excluded: [String])] = [
        ("FuzzMessages", ["FrameWire", "FuzzSupport"], []),
        ("FuzzControl", ["FrameWire", "FuzzSupport"], []),
        ("FuzzJPEG", ["TurboJPEG"], []),
        ("FuzzStream", ["JPEGStreams"], []),
        ("FuzzStrips", ["TurboJPEG", "TestSupport"], []),
        ("FuzzPixels", ["FrameSocket", "TurboJPEG", "TestSupport"], []),
        // The program's own sources, but for where it begins.
        (
            "FuzzOptions", ["FrameSocket", "Locking", "JPEGStreams", "PNGReading", "CMicroHTTPD", "CSndFile"],
            ["Tool/Program/FrameSocketTool.swift"]
        ),
    ]
    // Images and messages end at a page that nobody may touch.
    package.targets.first { $0.name == "SystemMemory" }?.swiftSettings?.append(.define("GUARDED_MEMORY"))
    package.targets.append(
        .target(
            name: "FuzzSupport",
            dependencies: ["FrameWire"],
            path: "Tests/Fuzz/FuzzSupport",
            swiftSettings: settings
        )
    )
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
            dependencies: ["FrameSocket", "FrameSocketTesting", "TestSupport"],
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
            // A tenth of its time went into checks of exclusive access to the properties of its world.
            swiftSettings: settings + [.unsafeFlags(["-enforce-exclusivity=unchecked"])]
        )
    )
}

// `make test`: what computes pixels and parses is optimized, as half of the tests' time went there, but keeps its assertions. The
// sanitizers' builds are not.
if Context.environment["OPTIMIZED"] != nil {
    let computing = [
        "FrameWire", "PixelFormats", "TurboJPEG", "FrameSocket", "FrameSocketAudio", "JPEGStreams", "TestSupport",
    ]
    for target in package.targets {
        if computing.contains(target.name) {
            target.swiftSettings?.append(
                .unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))
            )
        } else if target.name == "CJPEGStrips" {
            target.cSettings = [.unsafeFlags(["-O2"], .when(configuration: .debug))]
        }
    }
}
