import TestDescriptions
import Testing

@testable import FrameTransport

/// How memory is admitted, without any connection.
@Suite(.tags(.computes)) struct BudgetMachineTests {
    private typealias Machine = BudgetMachine<Int>

    /// A budget of 200 bytes, 100 of them for bodies, and its connections, which are known by their numbers from 1.
    private struct Rig {
        var machine = Machine(bytes: 200)

        /// What connections were told since this was last asked: those that were dropped negative.
        mutating func told() -> [Int] {
            machine.takeNotices().map {
                switch $0 {
                case .admitted(let connection): connection
                case .dropped(let connection): -connection
                }
            }
        }

        mutating func join(_ number: Int) -> UInt64 { machine.join(number).id }

        /// Adds a sender that leaves so many bytes unread.
        mutating func depart(_ number: Int, _ bytes: Int) -> UInt64 {
            let id = join(number)
            machine.depart(id, leaving: bytes)
            return id
        }
    }

    @Test func `servers that share a budget never use more than half of it for bodies of a usual size`() {
        var budget = Machine(bytes: 3200)
        budget.open(places: 16)
        let first = (0..<15).map { budget.join($0) }
        #expect(first.map(\.part.bytes) == Array(repeating: 100, count: 15))
        // Of what its connections have left, those of a second server get no more than a place's part.
        budget.open(places: 16)
        #expect((0..<3).map { budget.join($0).part.bytes } == [50, 50, 0])
        budget.depart(first[0].id, leaving: 0)
        budget.close(places: 16)
        #expect((0..<2).map { budget.join($0).part.bytes } == [100, 0])
    }

    /// Shows P298.
    @Test func `connections of several servers have a part, if all listened before the first was accepted`() {
        for places in [1, 2, 8, 100] {
            var budget = Machine(bytes: 1 << 20)
            for _ in 0..<5 { budget.open(places: places) }
            for number in 0..<5 * places { #expect(budget.join(number).part.bytes > 0) }
        }
    }

    @Test func `two usual bodies and the audio fit in a part, and none is over 1 MiB`() {
        for bytes in [0, 1, 15, 16, 2000, 1 << 20, 5 << 20, .max] {
            let part = Machine.Part(bytes: bytes)
            #expect(part.usualBody <= 1 << 20 && part.audio <= part.usualBody)
            #expect(2 * part.usualBody + part.audio <= bytes)
        }
    }

    /// Shows P181.
    @Test func `bodies that wait are admitted in order, and one that is withdrawn or ends lets the others pass`() {
        var rig = Rig()
        let ids = (1...5).map { rig.join($0) }
        #expect(rig.machine.admit(60, for: ids[0]) == true)
        for (id, bytes) in zip(ids[1...], [90, 10, 10, 90]) { #expect(rig.machine.admit(bytes, for: id) == false) }
        rig.machine.withdraw(ids[1])
        #expect(rig.told() == [3, 4] && rig.machine.free == 20)
        // It counts already, and is withdrawn before it begins.
        rig.machine.withdraw(ids[3])
        #expect(rig.told().isEmpty && rig.machine.free == 30)
        #expect(rig.machine.admit(10, for: ids[2]) == true && rig.machine.free == 30)
        rig.machine.release(10, of: ids[2])
        #expect(rig.told().isEmpty && rig.machine.free == 40 && rig.machine.waitingCount == 1)
        rig.machine.depart(ids[0], leaving: 0)
        #expect(rig.told() == [5] && rig.machine.free == 10)
        for id in ids[1...] { rig.machine.depart(id, leaving: 0) }
        #expect(rig.told().isEmpty && rig.machine.free == 100 && rig.machine.accountCount == 0)
    }

    @Test func `departed senders give way, oldest first, and no more than needed`() {
        var rig = Rig()
        let ids = (1...4).map { rig.depart($0, 25) }
        #expect(rig.machine.free == 0 && rig.machine.departedBytes == 100)
        let id = rig.join(5)
        #expect(rig.machine.admit(40, for: id) == true && rig.told() == [-1, -2])
        #expect(rig.machine.free == 10 && rig.machine.departedBytes == 50)
        // What was dropped is nobody's any more.
        rig.machine.forget(ids[0])
        #expect(rig.machine.free == 10)
        rig.machine.forget(ids[3])
        #expect(rig.told().isEmpty && rig.machine.free == 35)
        // What a further one leaves takes the place of the oldest, and not of a body.
        _ = rig.depart(6, 60)
        #expect(rig.told() == [-3] && rig.machine.free == 0)
        _ = rig.depart(7, 61)
        #expect(rig.told() == [-7] && rig.machine.departedBytes == 60)
    }

    @Test func `nobody gives way if that would not be enough, and those who wait come before those who have gone`() {
        var rig = Rig()
        let (first, second) = (rig.join(1), rig.join(2))
        #expect(rig.machine.admit(80, for: first) == true)
        _ = rig.depart(3, 20)
        #expect(rig.machine.admit(50, for: second) == false && rig.machine.departedBytes == 20)
        #expect(rig.told().isEmpty)
        _ = rig.depart(4, 1)
        #expect(rig.told() == [-4])
        // What a sender leaves takes the room of the bodies that it had, once the one that waits is served.
        rig.machine.depart(first, leaving: 90)
        #expect(rig.told() == [2, -1] && rig.machine.free == 30 && rig.machine.departedBytes == 20)
        rig.machine.release(80, of: first)
        rig.machine.forget(first)
        #expect(rig.machine.free == 30)
    }

    /// Shows P186.
    @Test func `shared memory is bounded, and delays no body`() {
        var rig = Rig()
        #expect(rig.machine.map(80) && !rig.machine.map(21) && rig.machine.map(20) && rig.machine.mappedBytes == 100)
        let id = rig.join(1)
        #expect(rig.machine.admit(100, for: id) == true)
        rig.machine.unmap(80)
        #expect(rig.machine.map(.max) == false && rig.machine.map(80))
    }
}
