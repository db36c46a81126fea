/// Runs the plan of a history.
extension World {
    /// More events than any plan needs: what goes on for so long never ends.
    private static let maximumEvents = 240_000

    /// A history of fewer events takes its steps once more.
    static let fewestEvents = 200
    private static let maximumRounds = 100

    /// Runs the plan without the steps whose place in `omitted` is true.
    ///
    /// The steps are taken `rounds` times; if that is nil, until enough has happened.
    func run(omitted: [Bool] = [], rounds wanted: Int? = nil) {
        let start = now
        repeat {
            let offset = UInt64(rounds) * (plan.end - start)
            for index in plan.steps.indices where omitted.isEmpty || !omitted[index] {
                let step = plan.steps[index]
                events.schedule(at: step.time + offset) { [self] in perform(step) }
            }
            run(until: plan.end + offset)
            rounds += 1
        } while violation == nil
            && (wanted.map { rounds < $0 } ?? (eventCount < Self.fewestEvents && rounds < Self.maximumRounds))
        settle()
        release()
        coverage.endHistory()
        // What is still to come refers to this world.
        events.removeAll()
        threads.removeAll()
    }

    private func run(until time: UInt64) {
        while violation == nil, let next = events.nextTime, next <= time, let event = events.popFirst() {
            now = max(now, event.time)
            eventCount += 1
            coverage.event(at: event.time)
            check(.progress, eventCount < Self.maximumEvents, "the history does not come to an end")
            guard violation == nil else { return }
            event.body()
            if !outlet.loans.isEmpty { drainOutlet() }
        }
        if violation == nil { now = max(now, time) }
    }

    /// Stops the faults, lets everybody consume, and waits for what must come.
    private func settle() {
        run(until: now + 3_000_000)
        guard violation == nil else { return }
        checkUnconsumed()
        checkHostility()
        note("faults stop")
        stopFaults()
        let limit = now + settlingTime
        repeat {
            run(until: now + 50_000_000)
        } while violation == nil && !isSettled && now < limit
        if violation == nil { checkSettled() }
    }

    /// Ends everything, and checks that nothing is left.
    private func release() {
        guard violation == nil else { return }
        note("everything is released")
        releaseEverything()
        runUntilQuiet()
        guard violation == nil else { return }
        checkConsumed()
        runUntilQuiet()
        if violation == nil { checkReleased() }
    }

    private func runUntilQuiet() {
        let limit = now + 60_000_000_000
        while violation == nil, !events.isEmpty, now < limit { run(until: now + 2_000_000_000) }
    }
}
