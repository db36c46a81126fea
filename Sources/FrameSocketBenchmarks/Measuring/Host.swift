import CBaseline

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the results depend on: machine, system, compiler and library.
struct Host {
    /// How many processors this process may use.
    let processors: Int
    /// The system's name, its release and the machine's architecture.
    let system: String
    let swift: String
    let turbojpeg: String

    init() {
        processors = Int(baseline_process_processors())
        var name = utsname()
        unsafe uname(&name)
        system = [Self.text(&name.sysname), Self.text(&name.release), Self.text(&name.machine)].joined(separator: " ")
        swift = Self.compiler
        turbojpeg = unsafe baseline_codec_version().map { unsafe String(cString: $0) } ?? "of unknown version"
    }

    /// The text in a C array.
    private static func text<Field>(_ field: inout Field) -> String {
        unsafe withUnsafeBytes(of: &field) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// The compiler's version, as far as it can be determined.
    private static var compiler: String {
        #if compiler(>=6.4)
            "6.4 or later"
        #elseif compiler(>=6.3.1)
            "6.3.1"
        #elseif compiler(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }
}
