#if os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    /// The time in which Dispatch next looks at its own threads; nil if it has not yet.
    ///
    /// The only timer of the monotonic clock is the one with which it does so every second: Swift sleeps by another clock.
    private func timeToDispatchMonitor() -> Duration? {
        let folder = "/proc/self/fdinfo"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard let text = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8),
                text.contains("clockid: \(CLOCK_MONOTONIC)\n"),
                let time = text.firstMatch(of: /it_value: \((\d+), (\d+)\)/),
                let seconds = Int(time.1), let nanoseconds = Int(time.2)
            else { continue }
            return .seconds(seconds) + .nanoseconds(nanoseconds)
        }
        return nil
    }

    /// Runs `body`, which takes less than half a second, while the process may open nothing more.
    func withoutDescriptors(_ body: () async throws -> Void) async throws {
        // Dispatch opens a file of each of its threads every second, if work waits for them, and ends the process (SIGILL)
        // if it cannot: `body` begins soon after it has done so.
        #expect(await eventually { timeToDispatchMonitor().map { $0 > .milliseconds(500) } ?? false })
        // Foundation and Dispatch open some at their first use; Dispatch has a timer's for as long as anybody sleeps.
        let sleeper = Task { try? await Task.sleep(for: .seconds(3600)) }
        defer { sleeper.cancel() }
        // The thread that fires this does the above first.
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
