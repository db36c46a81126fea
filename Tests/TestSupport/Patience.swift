/// How long a test waits for something that must happen soon.
///
/// It is never a condition for passing: a test waits for an event, and one that would wait forever fails here.
package let patience = Duration.seconds(30)

/// Returns what `body` returns, or nil if it has not returned within the limit.
///
/// It is left behind then, because what is tested may ignore a cancellation.
package func soon<Value: Sendable>(
    within limit: Duration = patience,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
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
        try await Task.sleep(for: limit)
        continuation.yield(nil)
    }
    defer {
        work.cancel()
        timer.cancel()
    }
    for await outcome in outcomes { return try outcome?.get() }
    return nil
}

/// Waits until something comes true that nothing reports, and returns whether it has within the limit.
package func becomesTrue(within limit: Duration = patience, _ condition: () -> Bool) async -> Bool {
    let start = ContinuousClock.now
    while !condition() {
        guard ContinuousClock.now - start < limit else { return false }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}

/// Waits for something that may itself take long: as ``becomesTrue(within:_:)`` does, for two minutes.
package func eventually(_ condition: () -> Bool) async -> Bool {
    await becomesTrue(within: .seconds(120), condition)
}
