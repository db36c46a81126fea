import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Ctrl-C and the polite form of kill, as a task may wait for them.
enum Interruption {
    /// Runs `work`; when a signal to stop comes meanwhile, runs `stop` and then ends the program.
    ///
    /// `stop` has to leave things in order, and to tell what was done. A second signal ends the program at once.
    static func around<Value: Sendable>(
        _ work: () async throws -> Value,
        stop: @escaping @Sendable () async -> Void
    ) async rethrows -> Value {
        let watchers = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                signal(number, SIG_DFL)
                Task {
                    await stop()
                    exit(ExitCode.interrupted.rawValue)
                }
            }
            source.resume()
            return source
        }
        defer { for watcher in watchers { watcher.cancel() } }
        return try await work()
    }

    /// Makes a write to a pipe without a reader an error in place of a signal.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }
}
