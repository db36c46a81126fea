#if os(Linux)
    import Foundation
    import Glibc
    import Testing

    /// Runs `body` while the process may open nothing more.
    func withoutDescriptors(_ body: () async throws -> Void) async throws {
        // Foundation and Dispatch open some at their first use; Dispatch has a timer's for as long as anybody sleeps.
        let sleeper = Task { try? await Task.sleep(for: .seconds(3600)) }
        defer { sleeper.cancel() }
        try await Task.sleep(for: .milliseconds(1))
        var limits = rlimit()
        #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
        let before = limits
        // Every number below it is taken.
        let next = unsafe open("/dev/null", O_RDONLY)
        close(next)
        limits.rlim_cur = rlim_t(next)
        #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
        limits = before
        defer { _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) }
        try await body()
    }

    /// Limits the memory that can be mapped to `byteCount` bytes more than now while `body` runs.
    func withoutMemory(beyond byteCount: Int, _ body: () async throws -> Void) async throws {
        try await Task.sleep(for: .milliseconds(1))
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = text.split(separator: " ").first.flatMap { Int($0) } ?? 0
        var limits = rlimit()
        #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limits) == 0)
        let before = limits
        limits.rlim_cur = rlim_t(pages * Int(getpagesize()) + byteCount)
        #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limits) == 0)
        limits = before
        defer { _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limits) }
        try await body()
    }
#endif
