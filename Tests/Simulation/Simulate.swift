import Foundation

/// Runs histories, one seed after the other, and ends with 1 if one of them breaks a promise.
@main enum Simulate {
    struct Options {
        var seeds = 10_000
        var first: UInt64 = 1
        var replay: UInt64?
        var showsTrace = true
        var shrinks = true
    }

    static func main() {
        guard let options = options(Array(CommandLine.arguments.dropFirst())) else { usage() }
        let world = World()
        if let seed = options.replay {
            exit(replay(seed, omitted: [], rounds: nil, in: world, showsTrace: options.showsTrace) == nil ? 0 : 1)
        }
        exit(run(options, in: world) ? 0 : 1)
    }

    /// Runs the histories; false if one of them failed.
    private static func run(_ options: Options, in world: World) -> Bool {
        let clock = ContinuousClock()
        let start = clock.now
        var events = 0
        var fewest = Int.max
        var short = 0
        for seed in options.first..<(options.first + UInt64(options.seeds)) {
            let plan = PlanGenerator.plan(seed: seed)
            let violation = History(world: world, plan: plan).run(seed: seed)
            events += world.eventCount
            fewest = min(fewest, world.eventCount)
            if world.eventCount < 200 { short += 1 }
            guard let violation else { continue }
            say("seed \(seed): \(violation)")
            say("histories until then: \(seed - options.first + 1)")
            guard options.shrinks else { return false }
            let shrinker = Shrinker(world: world, seed: seed, plan: plan, promise: violation.promise)
            let rounds = world.rounds
            let (omitted, fewer) = shrinker.shrink(rounds: rounds)
            _ = replay(seed, omitted: omitted, rounds: fewer, in: world, showsTrace: options.showsTrace)
            return false
        }
        let seconds =
            Double((clock.now - start).components.seconds)
            + Double((clock.now - start).components.attoseconds) / 1e18
        say("\(options.seeds) histories from seed \(options.first), \(events) events, none broke a promise")
        say("digest of the events: \(String(world.digest.value, radix: 16))")
        say("events a history: \(events / max(1, options.seeds)) on average, \(fewest) at least, under 200 in \(short)")
        say("histories a second: \(Int(Double(options.seeds) / max(seconds, 0.001)))")
        say("histories with:")
        for scenario in Coverage.Scenario.allCases {
            say("  \(world.coverage.histories(with: scenario))\t\(scenario.name)")
        }
        say("checks of:")
        for promise in Promise.allCases { say("  \(world.coverage.checks(of: promise))\t\(promise)") }
        return true
    }

    /// Runs one history again and tells it.
    private static func replay(_ seed: UInt64, omitted: [Bool], rounds: Int?, in world: World, showsTrace: Bool)
        -> Violation?
    {
        let plan = PlanGenerator.plan(seed: seed)
        world.trace.isOn = true
        let violation = History(world: world, plan: plan).run(seed: seed, omitted: omitted, rounds: rounds)
        world.trace.isOn = false
        say("actors:")
        let used = Set(plan.steps.indices.filter { omitted.isEmpty || !omitted[$0] }.map { plan.steps[$0].actor })
        for (index, actor) in plan.actors.enumerated() where used.contains(index) { say("  \(index): \(actor)") }
        say(
            "steps\(omitted.contains(true) ? " that are needed" : "")\(world.rounds > 1 ? ", taken \(world.rounds) times" : ""):"
        )
        for (index, step) in plan.steps.enumerated() where omitted.isEmpty || !omitted[index] {
            say("  \(index): at \((step.time - 1_000_000_000) / 1_000) us, actor \(step.actor): \(step.action)")
        }
        if showsTrace {
            say("trace:")
            let lines = world.trace.lines
            if lines.count > 1_500 { say("  … \(lines.count - 1_500) lines") }
            for line in lines.suffix(1_500) { say("  \(line)") }
        }
        say(violation.map { "seed \(seed): \($0)" } ?? "seed \(seed): no promise is broken")
        return violation
    }

    private static func options(_ arguments: [String]) -> Options? {
        var options = Options()
        var rest = arguments[...]
        while let name = rest.popFirst() {
            switch name {
            case "--no-trace": options.showsTrace = false
            case "--no-shrink": options.shrinks = false
            default:
                guard let value = rest.popFirst() else { return nil }
                switch (name, UInt64(value)) {
                case ("--seeds", let number?): options.seeds = Int(clamping: number)
                case ("--first", let number?): options.first = number
                case ("--replay", let number?): options.replay = number
                default: return nil
                }
            }
        }
        return options
    }

    private static func usage() -> Never {
        say(
            "usage: FrameSocketSimulation [--seeds N] [--first N] [--replay SEED] [--no-trace] [--no-shrink]"
        )
        exit(64)
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
