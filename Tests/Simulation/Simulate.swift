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
        if let seed = options.replay { exit(replay(seed, options) ? 0 : 1) }
        exit(run(options) ? 0 : 1)
    }

    /// Runs the histories; false if one of them failed.
    private static func run(_ options: Options) -> Bool {
        let start = ContinuousClock.now
        let coverage = Coverage()
        var events: [Int] = []
        for seed in options.first..<(options.first + UInt64(options.seeds)) {
            let plan = PlanGenerator.plan(seed: seed)
            let world = World(plan, seed: seed, coverage)
            world.run()
            events.append(world.eventCount)
            guard let violation = world.violation else { continue }
            say("seed \(seed): \(violation)")
            say("histories until then: \(events.count)")
            guard options.shrinks else { return false }
            let shrinker = Shrinker(plan: plan, seed: seed, promise: violation.promise, rounds: world.rounds)
            let (omitted, rounds) = shrinker.shrink()
            _ = replay(seed, options, omitted, rounds)
            return false
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let sum = events.reduce(0, +)
        let short = events.count { $0 < World.fewestEvents }
        say("\(options.seeds) histories from seed \(options.first), \(sum) events, none broke a promise")
        say("digest of the events: \(String(coverage.digest, radix: 16))")
        say(
            "events a history: \(sum / max(1, events.count)) on average, \(events.min() ?? 0) at least, "
                + "under \(World.fewestEvents) in \(short)"
        )
        say("histories a second: \(Int(Double(options.seeds) / max(seconds, 0.001)))")
        say("histories with:")
        for scenario in Coverage.Scenario.allCases {
            say("  \(coverage.histories(with: scenario))\t\(scenario.name)")
        }
        say("checks of:")
        for promise in Promise.allCases { say("  \(coverage.checks(of: promise))\t\(promise)") }
        return true
    }

    /// Runs one history again and tells it; false if it fails.
    private static func replay(_ seed: UInt64, _ options: Options, _ omitted: [Bool] = [], _ rounds: Int? = nil) -> Bool
    {
        let plan = PlanGenerator.plan(seed: seed)
        let world = World(plan, seed: seed, Coverage(), isTraced: true)
        world.run(omitted: omitted, rounds: rounds)
        say("actors:")
        let needed = plan.steps.indices.filter { omitted.isEmpty || !omitted[$0] }
        let used = Set(needed.map { plan.steps[$0].actor })
        for (index, actor) in plan.actors.enumerated() where used.contains(index) { say("  \(index): \(actor)") }
        let times = world.rounds > 1 ? ", taken \(world.rounds) times" : ""
        say("steps\(omitted.contains(true) ? " that are needed" : "")\(times):")
        for index in needed {
            let step = plan.steps[index]
            say("  \(index): at \((step.time - 1_000_000_000) / 1_000) us, actor \(step.actor): \(step.action)")
        }
        if options.showsTrace, let lines = world.trace {
            say("trace:")
            if lines.count > 1_500 { say("  … \(lines.count - 1_500) lines") }
            for line in lines.suffix(1_500) { say("  \(line)") }
        }
        say(world.violation.map { "seed \(seed): \($0)" } ?? "seed \(seed): no promise is broken")
        return world.violation == nil
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
        say("usage: FrameSocketSimulation [--seeds N] [--first N] [--replay SEED] [--no-trace] [--no-shrink]")
        exit(64)
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
