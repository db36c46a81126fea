import Foundation
import TestSupport

/// What this process has of the system: compared between moments at which nobody is connected.
struct Resources: Sendable {
    /// Descriptors by kind.
    let descriptors: [String: Int]
    let threads: Int
    /// Mappings of memory that peers share.
    let mappings: Int
    /// Memory that no other process shares, in bytes.
    let memory: Int

    /// What is there now, without what the allocator keeps for later: that depends on who happened to be served at once.
    static var now: Resources {
        #if canImport(Glibc)
            _ = trim?(0)
        #endif
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
        let memory = 1024 * (Int(line.filter(\.isNumber)) ?? 0)
        return Resources(descriptors: openDescriptors(), threads: threads, mappings: sharedMappings(), memory: memory)
    }

    #if canImport(Glibc)
        /// glibc's malloc_trim, which its module for Swift leaves out.
        private static let trim: (@convention(c) (Int) -> CInt)? = unsafe unsafeBitCast(
            dlsym(nil, "malloc_trim"),
            to: (@convention(c) (Int) -> CInt)?.self
        )
    #endif

    /// How much the memory may grow from the first moment to the last: what pools, and decoders of the latest connections, keep or not by chance.
    static let memoryTolerance = 24 << 20

    /// How many threads more there may be: Dispatch and Swift's pool make and end theirs as they see fit.
    static let threadTolerance = 2

    /// What has grown since `start`; nil if nothing has.
    func growth(since start: Resources) -> String? {
        let added = descriptorsAdded(to: start.descriptors)
        if !added.isEmpty { return "descriptors: \(added) more than \(start.descriptors)" }
        if threads > start.threads + Self.threadTolerance { return "threads: \(threads), at first \(start.threads)" }
        if mappings != 0 { return "\(mappings) mappings of shared memory" }
        if memory > start.memory + Self.memoryTolerance { return "memory: \(memory) bytes, at first \(start.memory)" }
        return nil
    }
}
