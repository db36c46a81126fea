import FrameSocket

/// The libturbojpeg that this program runs with.
enum JPEGLibrary {
    /// Its version and its file, if the system reports them.
    static var finding: PathDiagnosis.Finding {
        guard let path else {
            return PathDiagnosis.Finding(.jpegLibrary, .note, "the system does not report which libturbojpeg is loaded")
        }
        let version = version(in: path).map { "libturbojpeg \($0)" } ?? "libturbojpeg, unknown version"
        return PathDiagnosis.Finding(.jpegLibrary, .note, "\(version), from \(path)")
    }

    /// The file that the library was loaded from, as Linux lists what is mapped.
    private static var path: String? {
        guard let maps = try? Files.contents(of: "/proc/self/maps") else { return nil }
        for line in maps.split(separator: UInt8(ascii: "\n")) {
            guard let start = line.firstIndex(of: UInt8(ascii: "/")) else { continue }
            let path = String(decoding: line[start...], as: UTF8.self)
            if path.split(separator: "/").last?.hasPrefix("libturbojpeg") == true { return path }
        }
        return nil
    }

    /// No function of the library returns its version, but its file contains it: "libjpeg-turbo version 2.1.5 (build
    /// …".
    private static func version(in path: String) -> String? {
        guard let bytes = try? Files.contents(of: path) else { return nil }
        let words = Array("libjpeg-turbo version ".utf8)
        var index = bytes.startIndex
        while let start = bytes[index...].firstIndex(of: UInt8(ascii: "l")) {
            if bytes[start...].starts(with: words) {
                let rest = bytes[start...].dropFirst(words.count)
                let version = rest.prefix { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
                return version.isEmpty ? nil : String(decoding: version, as: UTF8.self)
            }
            index = start + 1
        }
        return nil
    }
}

extension PathDiagnosis.Finding.Code {
    /// The libturbojpeg that the program runs with.
    static let jpegLibrary = PathDiagnosis.Finding.Code("jpeg.library")
}
