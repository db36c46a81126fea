import Foundation

/// How long the tests wait for anything that must happen.
///
/// It is never a condition for passing: a test waits for an event, and one that would wait forever fails here.
package enum Patience {
    /// A minute; with the variable `TEST_PATIENCE`, as many times that as it says.
    package static let length: Duration = {
        let factor = ProcessInfo.processInfo.environment["TEST_PATIENCE"].flatMap { Double($0) } ?? 1
        return .seconds(60) * factor
    }()
}

/// Returns what `body` returns; nil if it has not returned when patience is over.
///
/// It is left behind then, because what is tested may ignore a cancellation.
package func soon<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value? {
    let (outcomes, continuation) = AsyncStream<Result<Value, any Error>?>.makeStream()
    let work = Task {
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await body())
        } catch {
            outcome = .failure(error)
        }
        continuation.yield(outcome)
    }
    let timer = Task {
        try await Task.sleep(for: Patience.length)
        continuation.yield(nil)
    }
    defer {
        work.cancel()
        timer.cancel()
    }
    for await outcome in outcomes { return try outcome?.get() }
    return nil
}

/// Waits until something comes true that nothing reports, and returns whether it has before patience was over.
package func becomesTrue(_ condition: () throws -> Bool) async rethrows -> Bool {
    let start = ContinuousClock.now
    while try !condition() {
        guard ContinuousClock.now - start < Patience.length else { return false }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}
