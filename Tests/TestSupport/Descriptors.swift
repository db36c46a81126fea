#if os(Linux)
    import Foundation
    import Glibc

    /// What the descriptors of this process are, such as `socket` or `anon_inode:[eventpoll`, and how many of each.
    ///
    /// They belong to the process, so a test that compares them has one to itself.
    package func openDescriptors() -> [String: Int] {
        let folder = "/proc/self/fd"
        var kinds: [String: Int] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)") else {
                continue
            }
            // The first use of a timer makes one that stays.
            if target.contains("timerfd") { continue }
            kinds[String(target.prefix { $0 != "[" || target.hasPrefix("anon_inode") && $0 != "]" }), default: 0] += 1
        }
        return kinds
    }

    /// How many of each kind there are more than there were.
    ///
    /// That there are fewer says nothing: the runtime opens and closes some of its own.
    package func descriptorsAdded(to before: [String: Int]) -> [String: Int] {
        openDescriptors().reduce(into: [:]) { added, kind in
            let more = kind.value - before[kind.key, default: 0]
            if more > 0 { added[kind.key] = more }
        }
    }

    private typealias WriteHeaps = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32

    // The module of the C library does not have it.
    private let writeHeaps = unsafe unsafeBitCast(dlsym(nil, "malloc_info"), to: WriteHeaps?.self)

    /// How many bytes of this process are allocated: what a leak adds to, whatever the heaps keep of what was freed.
    package func allocatedBytes() throws -> Int {
        var text: UnsafeMutablePointer<CChar>?
        var count = 0
        guard let stream = unsafe open_memstream(&text, &count), let writeHeaps = unsafe writeHeaps else {
            throw SystemFailure(call: "open_memstream", error: errno)
        }
        _ = unsafe writeHeaps(0, stream)
        unsafe fclose(stream)
        defer { unsafe free(text) }
        let report = unsafe text.map { unsafe String(cString: $0) } ?? ""
        /// The last number of its kind is of all heaps together.
        func size(_ element: String) throws -> Int {
            guard let place = report.range(of: element, options: .backwards),
                let number = report[place.upperBound...].firstMatch(of: /size="(\d+)"/).flatMap({ Int($0.1) })
            else { throw SystemFailure(call: "malloc_info", error: ENOENT) }
            return number
        }
        let free = try size("<total type=\"fast\"") + size("<total type=\"rest\"")
        return try size("<system type=\"current\"") + size("<total type=\"mmap\"") - free
    }

    /// The descriptors that a program started by this one would have too.
    package func inheritedDescriptors() throws -> Set<String> {
        let folder = "/proc/self/fdinfo"
        return try Set(
            FileManager.default.contentsOfDirectory(atPath: folder).filter { number in
                // The one by which the folder itself was read is gone.
                guard let facts = try? String(contentsOfFile: "\(folder)/\(number)", encoding: .utf8),
                    let line = facts.split(separator: "\n").first(where: { $0.hasPrefix("flags:") })
                else { return false }
                // What cannot be read counts, so that a test that expects none fails.
                let flags = Int32(line.dropFirst(6).trimmingCharacters(in: .whitespaces), radix: 8) ?? 0
                return flags & O_CLOEXEC == 0
            }
        )
    }

    /// The same before a test begins, once Dispatch has what it makes when something sleeps for the first time.
    package func descriptorsAtStart() async throws -> [String: Int] {
        try await Task.sleep(for: .milliseconds(1))
        return openDescriptors()
    }
#endif
