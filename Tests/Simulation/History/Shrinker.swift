/// Finds a short plan that breaks the same promise: leaves out steps as long as the promise is still broken.
struct Shrinker {
    let plan: Plan
    let seed: UInt64
    let promise: Promise
    let rounds: Int

    /// Returns which steps can be left out, and how often the others have to be taken.
    func shrink(maximumRuns: Int = 3_000) -> (omitted: [Bool], rounds: Int) {
        var omitted = [Bool](repeating: false, count: plan.steps.count)
        let rounds = (1..<max(2, rounds)).first { stillFails(omitted, rounds: $0) } ?? rounds
        var runs = 0
        var part = max(1, plan.steps.count / 2)
        while true {
            var hasShrunk = false
            for start in stride(from: 0, to: omitted.count, by: part) where runs < maximumRuns {
                let range = start..<min(omitted.count, start + part)
                guard range.contains(where: { !omitted[$0] }) else { continue }
                var attempt = omitted
                for index in range { attempt[index] = true }
                runs += 1
                if stillFails(attempt, rounds: rounds) { (omitted, hasShrunk) = (attempt, true) }
            }
            if runs >= maximumRuns || (part == 1 && !hasShrunk) { return (omitted, rounds) }
            part = (part + 1) / 2
        }
    }

    private func stillFails(_ omitted: [Bool], rounds: Int) -> Bool {
        let world = World(plan, seed: seed, Coverage())
        world.run(omitted: omitted, rounds: rounds)
        return world.violation?.promise == promise
    }
}
