#if os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    /// The timer by which Dispatch looks at its own threads every second; nil if it has none yet.
    ///
    /// It is the only one of the monotonic clock: Swift sleeps by another.
    private func dispatchMonitor() -> Int32? {
        let folder = "/proc/self/fdinfo"
        return (try? FileManager.default.contentsOfDirectory(atPath: folder))?.lazy
            .first { name in
                let text = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
                return text?.contains("clockid: \(CLOCK_MONOTONIC)\n") ?? false
            }
            .flatMap { Int32($0) }
    }

    private typealias SetTimer =
        @convention(c) (Int32, Int32, UnsafePointer<itimerspec>, UnsafeMutablePointer<itimerspec>) -> Int32

    // The module of the C library does not have it.
    private let setTimer = unsafe unsafeBitCast(dlsym(nil, "timerfd_settime"), to: SetTimer?.self)

    /// Sets when a timer fires next; returns whether it had been going to fire.
    private func set(_ timer: Int32, seconds: Int, nanoseconds: Int = 0) -> Bool {
        var (time, before) = (itimerspec(), itimerspec())
        (time.it_value.tv_sec, time.it_value.tv_nsec) = (seconds, nanoseconds)
        let result = unsafe setTimer?(timer, 0, &time, &before) ?? -1
        return result == 0 && (before.it_value.tv_sec, before.it_value.tv_nsec) != (0, 0)
    }

    /// Runs `body` while the process may open nothing more.
    func withoutDescriptors(_ body: () async throws -> Void) async throws {
        // Dispatch opens a file of each of its threads every second, if work waits for them, and ends the process (SIGILL)
        // if it cannot: meanwhile it does not look.
        var monitor: Int32 = -1
        let isStopped = await becomesTrue {
            monitor = dispatchMonitor() ?? -1
            // Unless it is just about to look, and sets the timer again then.
            return monitor >= 0 && set(monitor, seconds: 3600)
        }
        try #require(isStopped)
        defer { _ = set(monitor, seconds: 0, nanoseconds: 1) }
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
