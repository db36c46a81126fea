import Testing

@testable import FrameTransport

/// How memory is shared out, without any connection.
@Suite struct BudgetMachineTests {
    @Test func `servers that share a budget never use more than half of it between them`() {
        var budget = BudgetMachine(bytes: 1000)
        let first = (0..<4).map { _ in budget.join(connections: 4) }
        let second = (0..<4).map { _ in budget.join(connections: 4) }
        #expect(first == [125, 125, 125, 125] && second == [0, 0, 0, 0])
        budget.leave(125)
        #expect(budget.join(connections: 2) == 125)
    }

    @Test func `departed senders give way, oldest first, and no more than needed`() {
        var budget = BudgetMachine(bytes: 200)
        let ids = (0..<4).compactMap { _ in budget.depart(25).id }
        #expect(budget.free == 0 && ids.count == 4)
        let (answer, effects) = budget.ask(40)
        #expect(answer == .granted && effects.evicted == Array(ids.prefix(2)))
        #expect(budget.free == 10 && budget.departedBytes == 50)
        // What has given way is nobody's any more.
        #expect(budget.forget(ids[0]) == BudgetMachine.Effects())
        #expect(budget.free == 10)
        _ = budget.forget(ids[3])
        #expect(budget.free == 35)
    }

    @Test func `nobody gives way if that would not be enough`() {
        var budget = BudgetMachine(bytes: 200)
        _ = budget.ask(80)
        let departed = budget.depart(20).id
        let (answer, effects) = budget.ask(50)
        #expect(answer != .granted && effects.evicted.isEmpty && departed != nil)
        // Those who wait come before those who have gone.
        #expect(budget.depart(1).id == nil)
        // What comes back, with what gives way, serves the one that waits.
        let back = budget.giveBack(80)
        #expect(back.granted.count == 1 && budget.free == 30 && budget.departedCount == 1)
    }

    @Test func `a withdrawn request lets those behind it pass`() {
        var budget = BudgetMachine(bytes: 200)
        _ = budget.ask(60)
        guard case .waiting(let large) = budget.ask(90).answer, case .waiting(let small) = budget.ask(10).answer else {
            Issue.record("Both have to wait: 40 are free, and the first comes first")
            return
        }
        #expect(budget.withdraw(large).granted == [small])
        #expect(budget.requestCount == 0 && budget.free == 30)
    }
}
