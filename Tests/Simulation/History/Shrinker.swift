/// Finds a short plan that breaks the same promise: leaves out steps as long as the promise is still broken.
struct Shrinker {
    let world: World
    let seed: UInt64
    let plan: Plan
    let promise: Promise

    /// Returns which steps can be left out, and how often the others have to be taken.
    func shrink(rounds: Int, maximumRuns: Int = 3_000) -> (omitted: [Bool], rounds: Int) {
        let all = [Bool](repeating: false, count: plan.steps.count)
        for fewer in 1..<max(2, rounds) where stillFails(all, rounds: fewer) {
            return (omissions(rounds: fewer, maximumRuns), fewer)
        }
        return (omissions(rounds: rounds, maximumRuns), rounds)
    }

    private func omissions(rounds: Int, _ maximumRuns: Int) -> [Bool] {
        var omitted = [Bool](repeating: false, count: plan.steps.count)
        var runs = 0
        var part = max(1, plan.steps.count / 2)
        while true {
            var hasShrunk = false
            var start = 0
            while start < omitted.count, runs < maximumRuns {
                let range = start..<min(omitted.count, start + part)
                start += part
                guard range.contains(where: { !omitted[$0] }) else { continue }
                var attempt = omitted
                for index in range { attempt[index] = true }
                runs += 1
                if stillFails(attempt, rounds: rounds) {
                    omitted = attempt
                    hasShrunk = true
                }
            }
            if runs >= maximumRuns { return omitted }
            if part > 1 { part = (part + 1) / 2 } else if !hasShrunk { return omitted }
        }
    }

    private func stillFails(_ omitted: [Bool], rounds: Int) -> Bool {
        History(world: world, plan: plan).run(seed: seed, omitted: omitted, rounds: rounds)?.promise == promise
    }
}
