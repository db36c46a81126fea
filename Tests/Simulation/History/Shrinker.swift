/// Finds a short plan that breaks the same promise: leaves out steps as long as the promise is still broken.
struct Shrinker {
    let world: World
    let seed: UInt64
    let plan: Plan
    let promise: Promise

    /// Returns which steps can be left out.
    func omissions(maximumRuns: Int = 3_000) -> [Bool] {
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
                if stillFails(attempt) {
                    omitted = attempt
                    hasShrunk = true
                }
            }
            if runs >= maximumRuns { return omitted }
            if part > 1 { part = (part + 1) / 2 } else if !hasShrunk { return omitted }
        }
    }

    private func stillFails(_ omitted: [Bool]) -> Bool {
        History(world: world, plan: plan).run(seed: seed, omitted: omitted)?.promise == promise
    }
}
