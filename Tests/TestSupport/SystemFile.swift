import Foundation

/// The text of a file that the system makes when it is read, such as `/proc/self/maps`.
///
/// `String(contentsOfFile:)` reads no more than the first page of such a file, whose size is given as 0.
package func systemFile(_ path: String) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
}

/// The number of mappings of shared memory in a process, which is `self` or a number.
package func sharedMappings(ofProcess process: String) throws -> Int {
    try systemFile("/proc/\(process)/maps").split(separator: "\n").count { $0.contains("/memfd:") }
}

/// The number of mappings of shared memory in this process; -1 if the system does not tell.
package func sharedMappings() -> Int { (try? sharedMappings(ofProcess: "self")) ?? -1 }
