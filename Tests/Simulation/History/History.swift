/// Runs one plan in a world, and says which promise was broken, if one was.
struct History {
    let world: World
    let plan: Plan

    /// More events than any plan needs: what goes on for so long never ends.
    private static let maximumEvents = 240_000

    /// A history of fewer events takes its steps once more.
    private static let fewestEvents = 200
    private static let maximumRounds = 100

    /// Runs the plan without the steps whose place in `omitted` is true.
    ///
    /// The steps are taken `rounds` times; if that is nil, until enough has happened.
    func run(seed: UInt64, omitted: [Bool] = [], rounds: Int? = nil) -> Violation? {
        world.begin(plan, seed: seed)
        let duration = plan.end - world.now
        repeat {
            let offset = UInt64(world.rounds) * duration
            for index in plan.steps.indices where omitted.isEmpty || !omitted[index] {
                world.events.schedule(.step, index, at: plan.steps[index].time + offset)
            }
            run(until: plan.end + offset)
            world.rounds += 1
        } while world.violation == nil
            && (rounds.map { world.rounds < $0 }
                ?? (world.eventCount < Self.fewestEvents && world.rounds < Self.maximumRounds))
        settle()
        release()
        world.coverage.endHistory()
        return world.violation
    }

    private func run(until time: UInt64) {
        while world.violation == nil, let next = world.events.nextTime, next <= time {
            guard let event = world.events.popFirst() else { return }
            world.now = max(world.now, event.time)
            world.eventCount += 1
            world.digest.add(event)
            world.check(.progress, world.eventCount < Self.maximumEvents, "the history does not come to an end")
            guard world.violation == nil else { return }
            dispatch(event)
            if !world.outlet.loans.isEmpty { world.drainOutlet() }
        }
        if world.violation == nil { world.now = max(world.now, time) }
    }

    private func dispatch(_ event: Event) {
        let (index, argument) = (Int(event.index), Int(event.argument))
        switch event.kind {
        case .step: world.perform(plan.steps[index])
        case .thread: world.stepThread(index)
        case .arrival: world.arrive(index)
        case .connect: world.concludeConnect(index)
        case .program: world.stepProgram(index)
        case .peer: world.stepPeer(index, argument)
        case .descriptorsReturn: world.descriptorsReturn()
        case .placeAnswers: world.places[index].hangs = false
        }
    }

    /// Stops the faults, lets everybody consume, and waits for what must come.
    private func settle() {
        guard world.violation == nil else { return }
        run(until: world.now + 3_000_000)
        guard world.violation == nil else { return }
        world.checkUnconsumed()
        world.checkHostility()
        world.note("faults stop")
        world.stopFaults()
        let limit = world.now + world.settlingTime
        repeat {
            run(until: world.now + 50_000_000)
        } while world.violation == nil && !world.isSettled && world.now < limit
        if world.violation == nil { world.checkSettled() }
    }

    /// Ends everything, and checks that nothing is left.
    private func release() {
        guard world.violation == nil else { return }
        world.note("everything is released")
        world.releaseEverything()
        runUntilQuiet()
        guard world.violation == nil else { return }
        world.checkConsumed()
        runUntilQuiet()
        if world.violation == nil { world.checkReleased() }
    }

    private func runUntilQuiet() {
        let limit = world.now + 60_000_000_000
        while world.violation == nil, !world.events.isEmpty, world.now < limit { run(until: world.now + 2_000_000_000) }
    }
}
