import Dispatch
import Foundation

/// The signals with which a user or a service manager ends the program.
enum EndSignals {
    /// Returns the signals, as they come, which do nothing else from then on, however many there are.
    ///
    /// When this function returns, Dispatch watches for them. To be called once, since on Linux Dispatch misses the signals
    /// of a second call, and before the program makes what it has to remove at its end: a signal that comes earlier ends it
    /// at once, or is lost.
    static func make() async -> AsyncStream<Int32> {
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        nonisolated(unsafe) let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            return source
        }
        for source in sources {
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
        continuation.onTermination = { _ in sources.forEach { $0.cancel() } }
        return signals
    }
}
