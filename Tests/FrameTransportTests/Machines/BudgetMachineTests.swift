import TestDescriptions
import Testing

@testable import FrameTransport

/// How memory is admitted, without any connection.
@Suite(.tags(.computes)) struct BudgetMachineTests {
    @Test func `servers that share a budget never use more than half of it for bodies of a usual size`() {
        var budget = BudgetMachine(bytes: 3200)
        budget.open(places: 16)
        let first = (0..<15).map { _ in budget.join() }
        #expect(first.map(\.part.bytes) == Array(repeating: 100, count: 15))
        // Of what its connections have left, those of a second server get no more than a place's part.
        budget.open(places: 16)
        #expect((0..<3).map { _ in budget.join().part.bytes } == [50, 50, 0])
        #expect(budget.depart(first[0].id, leaving: 0).isEmpty)
        budget.close(places: 16)
        #expect((0..<2).map { _ in budget.join().part.bytes } == [100, 0])
    }

    /// Shows P298.
    @Test(arguments: [1, 2, 8, 100])
    func `connections of several servers have a part, if all listened before the first was accepted`(places: Int) {
        var budget = BudgetMachine(bytes: 1 << 20)
        for _ in 0..<5 { budget.open(places: places) }
        for _ in 0..<5 * places { #expect(budget.join().part.bytes > 0) }
    }

    @Test(arguments: [0, 1, 15, 16, 2000, 1 << 20, 5 << 20, .max])
    func `two usual bodies and the audio fit in a part, and none is over 1 MiB`(bytes: Int) {
        let part = BudgetMachine.Part(bytes: bytes)
        #expect(part.usualBody <= 1 << 20 && part.audio <= part.usualBody)
        #expect(2 * part.usualBody + part.audio <= bytes)
    }

    /// Shows P181.
    @Test func `bodies that wait are admitted in order, and one that is withdrawn lets the others pass`() {
        var budget = BudgetMachine(bytes: 200)
        let ids = (0..<4).map { _ in budget.join().id }
        #expect(budget.admit(60, for: ids[0]).isAdmitted)
        for (id, bytes) in [(ids[1], 90), (ids[2], 10), (ids[3], 10)] {
            #expect(!budget.admit(bytes, for: id).isAdmitted)
        }
        #expect(budget.withdraw(ids[1]) == [.admitted(ids[2]), .admitted(ids[3])] && budget.free == 20)
        // It counts already, and is withdrawn before it begins.
        #expect(budget.withdraw(ids[3]).isEmpty && budget.free == 30)
        #expect(budget.admit(10, for: ids[2]).isAdmitted && budget.free == 30)
        #expect(budget.release(10, of: ids[2]).isEmpty && budget.free == 40)
        #expect(budget.waitingCount == 0)
    }

    @Test func `a connection that ends releases what it has, and no longer waits`() {
        var budget = BudgetMachine(bytes: 200)
        let ids = (0..<3).map { _ in budget.join().id }
        #expect(budget.admit(60, for: ids[0]).isAdmitted)
        for id in ids[1...] { #expect(!budget.admit(90, for: id).isAdmitted) }
        #expect(budget.depart(ids[1], leaving: 0).isEmpty)
        #expect(budget.depart(ids[0], leaving: 0) == [.admitted(ids[2])] && budget.free == 10)
        #expect(budget.depart(ids[2], leaving: 0).isEmpty && budget.free == 100 && budget.accountCount == 0)
    }
}

/// Departed senders, and shared memory.
extension BudgetMachineTests {
    /// Adds a sender that leaves so many bytes unread; returns its number, and what else is told.
    private func depart(_ bytes: Int, _ budget: inout BudgetMachine) -> (id: UInt64, notices: [BudgetMachine.Notice]) {
        let id = budget.join().id
        return (id, budget.depart(id, leaving: bytes))
    }

    @Test func `departed senders give way, oldest first, and no more than needed`() {
        var budget = BudgetMachine(bytes: 200)
        let ids = (0..<4).map { _ in depart(25, &budget).id }
        #expect(budget.free == 0 && budget.departedBytes == 100)
        let id = budget.join().id
        let (isAdmitted, notices) = budget.admit(40, for: id)
        #expect(isAdmitted && notices == [.dropped(ids[0]), .dropped(ids[1])])
        #expect(budget.free == 10 && budget.departedBytes == 50)
        // What was dropped is nobody's any more.
        #expect(budget.forget(ids[0]).isEmpty && budget.free == 10)
        #expect(budget.forget(ids[3]).isEmpty && budget.free == 35)
        // What a further one leaves takes the place of the oldest, and not of a body.
        #expect(depart(60, &budget).notices == [.dropped(ids[2])] && budget.free == 0)
        let (last, refused) = depart(61, &budget)
        #expect(refused == [.dropped(last)] && budget.departedBytes == 60)
    }

    @Test func `nobody gives way if that would not be enough`() {
        var budget = BudgetMachine(bytes: 200)
        let (first, second) = (budget.join().id, budget.join().id)
        #expect(budget.admit(80, for: first).isAdmitted)
        #expect(depart(20, &budget).notices.isEmpty)
        let (isAdmitted, notices) = budget.admit(50, for: second)
        #expect(!isAdmitted && notices.isEmpty && budget.departedBytes == 20)
        // Those who wait come before those who have gone.
        let (last, refused) = depart(1, &budget)
        #expect(refused == [.dropped(last)])
        // What comes back, with what gives way, serves the one that waits.
        #expect(budget.release(80, of: first) == [.admitted(second)] && budget.free == 30)
        #expect(budget.departedBytes == 20)
    }

    @Test func `what a sender leaves takes the room of the bodies that it had`() {
        var budget = BudgetMachine(bytes: 200)
        let (sender, other) = (budget.join().id, budget.join().id)
        #expect(budget.admit(80, for: sender).isAdmitted && !budget.admit(50, for: other).isAdmitted)
        // The one that waits is served first.
        #expect(budget.depart(sender, leaving: 90) == [.admitted(other), .dropped(sender)] && budget.free == 50)
        #expect(budget.release(80, of: sender).isEmpty && budget.forget(sender).isEmpty && budget.free == 50)
    }

    /// Shows P186.
    @Test func `shared memory is bounded, and delays no body`() {
        var budget = BudgetMachine(bytes: 200)
        #expect(budget.map(80) && !budget.map(21) && budget.map(20) && budget.mappedBytes == 100)
        let id = budget.join().id
        #expect(budget.admit(100, for: id).isAdmitted)
        budget.unmap(80)
        #expect(budget.map(.max) == false && budget.map(80))
    }
}
