import Foundation

/// Where things are.
enum Places {
    /// The directory of the package.
    static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path()

    /// The directory into which SwiftPM has built the tests, and `framesocket` with them.
    private static let products: URL = {
        #if canImport(Darwin)
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? .main
        #else
            let bundle = Bundle.main
        #endif
        return bundle.bundleURL.pathExtension == "xctest"
            ? bundle.bundleURL.deletingLastPathComponent() : bundle.bundleURL
    }()

    /// The program that is tested.
    static let framesocket = products.appending(path: "framesocket").path()

    /// The program that measures.
    static let benchmarks = products.appending(path: "framesocket-bench").path()

    /// The Python that has what the foreign peers need.
    static var python: String {
        get throws { try existing(package + ".tools/venv/bin/python") }
    }

    /// A file below `Fixtures`.
    static func fixture(_ path: String) -> String {
        package + "Fixtures/" + path
    }

    /// A foreign peer's program.
    static func peer(_ name: String) -> String {
        package + "Tests/Peers/\(name).py"
    }

    /// A program of the system.
    static func tool(_ name: String) throws -> String {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let found = directories.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        return try existing(found ?? name)
    }

    private static func existing(_ path: String) throws -> String {
        guard FileManager.default.isExecutableFile(atPath: path) else { throw Missing(path: path) }
        return path
    }

    /// A program that the tests need is not installed.
    struct Missing: Error, CustomStringConvertible {
        let path: String
        var description: String { "\(path) is missing; `make test` installs it (scripts/setup test)" }
    }
}
