#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The memory that this process uses, in bytes.
enum ProcessMemory {
    /// Now.
    static var resident: Double? { field("VmRSS:") }

    /// The peak so far.
    static var peak: Double? { field("VmHWM:") }

    /// A line of what Linux reports; nil elsewhere.
    private static func field(_ name: String) -> Double? {
        guard let file = unsafe fopen("/proc/self/status", "r") else { return nil }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Double($0) }
            .map { $0 * 1024 }
    }
}
