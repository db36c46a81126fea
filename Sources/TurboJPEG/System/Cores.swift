#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The cores that this process can use.
enum Cores {
    /// The number of cores, as the system reported it on first use: those in the affinity mask, but no more than the
    /// quota of the control group allows.
    static let count = max(1, min(allowed() ?? online, quota() ?? .max))

    private static var online: Int { Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Returns the number of cores in the affinity mask; nil if the system does not provide it.
    private static func allowed() -> Int? {
        text(of: "/proc/self/status").flatMap(cores(inStatus:))
    }

    /// Returns the number of bits in the mask from `/proc/self/status`, in hexadecimal with commas.
    static func cores(inStatus text: String) -> Int? {
        let name = "Cpus_allowed:"
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        let bits = line.dropFirst(name.count).compactMap(\.hexDigitValue).reduce(0) { $0 + $1.nonzeroBitCount }
        return bits > 0 ? bits : nil
    }

    /// Returns the lowest quota of the process's control group and its ancestors, rounded up; nil if there is none.
    private static func quota() -> Int? {
        guard let group = text(of: "/proc/self/cgroup").flatMap(unifiedGroup(in:)) else { return nil }
        var parts = group.split(separator: "/")
        var least: Int?
        while true {
            let path = "/sys/fs/cgroup/" + parts.map { $0 + "/" }.joined() + "cpu.max"
            if let cores = text(of: path).flatMap(cores(inQuota:)) { least = min(least ?? .max, cores) }
            guard parts.popLast() != nil else { return least }
        }
    }

    /// Returns the path of the group in the unified hierarchy, from the lines of `/proc/self/cgroup`.
    static func unifiedGroup(in text: String) -> String? {
        text.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
    }

    /// Returns the number of cores in a `cpu.max`: its quota by its period, rounded up; nil if it is `max` or invalid.
    static func cores(inQuota text: String) -> Int? {
        let words = text.split { $0 == " " || $0 == "\n" }
        guard words.count == 2, let quota = Int(words[0]), let period = Int(words[1]), quota > 0, period > 0 else {
            return nil
        }
        return max(1, quota / period + (quota % period == 0 ? 0 : 1))
    }

    /// Returns the beginning of a small system file; nil if it cannot be read.
    private static func text(of path: String) -> String? {
        guard let file = unsafe fopen(path, "r") else { return nil }
        defer { unsafe _ = fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
