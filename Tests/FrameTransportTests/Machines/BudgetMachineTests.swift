import TestDescriptions
import Testing

@testable import FrameTransport

/// How memory is shared out, without any connection.
@Suite(.tags(.computes)) struct BudgetMachineTests {
    @Test func `servers that share a budget never use more than half of it between them`() {
        var budget = BudgetMachine(bytes: 3200)
        budget.open(places: 16)
        #expect((0..<15).map { _ in budget.join() } == Array(repeating: 100, count: 15))
        // Of what its connections have left, who comes to a second server gets no more than a place's part.
        budget.open(places: 16)
        #expect((0..<3).map { _ in budget.join() } == [50, 50, 0])
        budget.leave(100)
        budget.close(places: 16)
        #expect((0..<2).map { _ in budget.join() } == [100, 0])
    }

    /// Shows P298.
    @Test(arguments: [1, 2, 8, 100])
    func `connections of several servers have an allowance, if all listened before the first was accepted`(places: Int)
    {
        var budget = BudgetMachine(bytes: 1 << 20)
        for _ in 0..<5 { budget.open(places: places) }
        for _ in 0..<5 * places { #expect(budget.join() > 0) }
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

    @Test func `a withdrawn request lets those after it pass`() {
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

/// Shared memory in the budget.
extension BudgetMachineTests {
    @Test func `shared memory takes what is free, and only from senders that have left`() {
        var budget = BudgetMachine(bytes: 200)
        let departed = budget.depart(30).id
        let (first, effects) = budget.map(80)
        #expect(first != nil && departed.map { [$0] } == effects.evicted && budget.free == 20)
        let second = budget.map(21).id
        #expect(second == nil && budget.mappedBytes == 80)
        // Nor does it go before those who wait.
        _ = budget.ask(100)
        guard case .waiting(let waiting) = budget.ask(50).answer else {
            Issue.record("nothing is left for it")
            return
        }
        let third = budget.map(1).id
        #expect(third == nil)
        _ = budget.withdraw(waiting)
    }

    /// Shows P270.
    @Test func `bodies get the memory that is shared, the largest first and no more than needed`() {
        var budget = BudgetMachine(bytes: 400)
        let ids = [10, 60, 50, 30].compactMap { budget.map($0).id }
        #expect(ids.count == 4 && budget.free == 50)
        let (answer, effects) = budget.ask(120)
        #expect(answer == .granted && effects.revoked == [ids[1], ids[2]] && effects.evicted.isEmpty)
        #expect(budget.free == 40 && budget.mappedBytes == 40)
        // What was revoked has been given back.
        #expect(budget.unmap(ids[1]) == BudgetMachine.Effects() && budget.free == 40)
        _ = budget.unmap(ids[0])
        _ = budget.unmap(ids[3])
        _ = budget.giveBack(120)
        #expect(budget.free == 200 && budget.mappedBytes == 0)
    }

    @Test func `what departed senders left goes before what is shared, and nothing goes that would not be enough`() {
        var budget = BudgetMachine(bytes: 200)
        let mapped = budget.map(40).id
        let departed = budget.depart(40).id
        let (small, fewEffects) = budget.ask(50)
        #expect(small == .granted && fewEffects.evicted == [departed] && fewEffects.revoked.isEmpty)
        let (large, noEffects) = budget.ask(51)
        #expect(large != .granted && noEffects == BudgetMachine.Effects() && mapped != nil)
        // When the first is given back, the one that waits gets that, and no memory is revoked.
        let back = budget.giveBack(50)
        #expect(back.granted.count == 1 && back.revoked.isEmpty && budget.free == 9)
    }

    @Test func `a body that waits for a grant gets shared memory once that is enough`() {
        var budget = BudgetMachine(bytes: 200)
        let mapped = budget.map(40).id
        _ = budget.ask(60)
        let (answer, _) = budget.ask(90)
        #expect(answer != .granted)
        let back = budget.giveBack(60)
        #expect(back.granted.count == 1 && back.revoked == [mapped] && budget.free == 10)
    }
}
