import TestDescriptions
import Testing

@testable import FrameTransport

/// Who is accepted, and who is remembered, without any socket.
@Suite(.tags(.computes)) struct ListenerMachineTests {
    private func machine(places: Int) -> ListenerMachine {
        var limits = FrameServer.Limits()
        limits.maximumConnections = places
        return ListenerMachine(limits: limits)
    }

    /// The commands that there are, each acceptance answered by `accept`.
    private func commands(
        _ machine: inout ListenerMachine,
        accept: (inout ListenerMachine) -> Void = { $0.wouldBlock() },
        keepsPlace: Bool = false,
        hasJustTaken: Set<Int> = []
    ) -> [ListenerMachine.Command] {
        var commands: [ListenerMachine.Command] = []
        while let command = machine.nextCommand() {
            commands.append(command)
            if command == .accept { accept(&machine) }
            if case .makeWay(let id) = command { machine.madeWay(id, isLeaving: !keepsPlace) }
            if case .dropDeparted(let id) = command {
                machine.departedDropped(id, wasQueued: !hasJustTaken.contains(id))
            }
        }
        return commands
    }

    @Test func `a turn accepts a limited number, and then others have theirs`() {
        var machine = machine(places: 1000)
        machine.becameReady()
        let first = commands(&machine) { $0.accepted(isAdmitted: true) }
        #expect(first.count { $0 == .accept } == ListenerMachine.acceptsPerTurn && first.last == .yield)
        machine.resume()
        #expect(commands(&machine).contains(.accept))
    }

    @Test func `one connection over the limit is turned away, and a freed place is used again`() {
        var machine = machine(places: 1)
        machine.becameReady()
        machine.accepted(isAdmitted: true)
        machine.accepted(isAdmitted: true)
        #expect(commands(&machine).prefix(2) == [.admit(1), .turnAway])
        machine.ended(1, wasReady: true)
        machine.accepted(isAdmitted: true)
        #expect(commands(&machine).contains(.admit(2)) && machine.refused == 1)
    }

    /// Shows P129.
    @Test func `the queue ends after the connections that have yet to start`() {
        var machine = machine(places: 4)
        for _ in 0..<3 { machine.accepted(isAdmitted: true) }
        machine.started(1)
        machine.queued(1)
        #expect(commands(&machine) == [.admit(1), .admit(2), .admit(3)])
        machine.drain()
        #expect(commands(&machine) == [.stopListening, .drainConnections])
        machine.started(2)
        // The third ends before it is known that it has started.
        machine.ended(3, wasReady: false)
        #expect(commands(&machine).isEmpty)
        machine.started(3)
        #expect(commands(&machine) == [.endPresenting(nil)])
        for id in 1...2 { machine.ended(id, wasReady: true) }
        #expect(commands(&machine) == [.finished])
    }

    @Test func `a connection after the end of the queue does not stay in it`() {
        var machine = machine(places: 4)
        machine.accepted(isAdmitted: true)
        machine.started(1)
        machine.close()
        machine.queued(1)
        machine.taken(1)
        machine.ended(1, wasReady: true)
        #expect(machine.queuedCount == 0 && machine.connectionCount == 0 && machine.dropped == 0)
    }

    @Test func `the oldest connection without a token gives way to one more, and to one that finds no place`() {
        var limits = FrameServer.Limits()
        (limits.maximumConnections, limits.maximumHandshakes) = (3, 2)
        var machine = ListenerMachine(limits: limits, usesTokens: true)
        var first: [ListenerMachine.Command] = []
        for _ in 0..<3 {
            machine.accepted(isAdmitted: true)
            first += commands(&machine)
        }
        #expect(first == [.admit(1), .admit(2), .makeWay(1), .admit(3)])
        machine.ended(1, wasReady: false)
        machine.tokenShown(2)
        machine.tokenShown(3)
        // One place is left; the second to come takes it over.
        machine.accepted(isAdmitted: true)
        #expect(commands(&machine) == [.admit(4)])
        machine.accepted(isAdmitted: true)
        #expect(commands(&machine) == [.makeWay(4), .admit(5)])
        // The token of the fifth has just come, so that there is no place for the sixth.
        machine.accepted(isAdmitted: true)
        #expect(commands(&machine, keepsPlace: true) == [.makeWay(5), .turnAway])
        machine.tokenShown(5)
        machine.ended(4, wasReady: false)
        #expect(machine.refused == 3 && machine.connectionCount == 3)
    }

    @Test func `no more connections leave at a time than may be without a token`() {
        var limits = FrameServer.Limits()
        limits.maximumHandshakes = 2
        var machine = ListenerMachine(limits: limits, usesTokens: true)
        var all: [ListenerMachine.Command] = []
        for _ in 0..<5 {
            machine.accepted(isAdmitted: true)
            all += commands(&machine)
        }
        #expect(all == [.admit(1), .admit(2), .makeWay(1), .admit(3), .makeWay(2), .admit(4), .turnAway])
        machine.ended(1, wasReady: false)
        machine.accepted(isAdmitted: true)
        #expect(commands(&machine) == [.makeWay(3), .admit(5)])
    }

    @Test func `short visits that nobody accepted free their places, and the oldest are forgotten`() {
        var machine = machine(places: 4)
        for id in 1...100 {
            machine.accepted(isAdmitted: true)
            machine.queued(id)
            machine.ended(id, wasReady: true)
        }
        let dropped = commands(&machine).compactMap { if case .dropDeparted(let id) = $0 { id } else { nil } }
        #expect(dropped == Array(1...96) && machine.dropped == 96)
        #expect(machine.queuedCount == 4 && machine.connectionCount == 0)
        // One that was taken is the program's own.
        machine.taken(97)
        for id in 101...104 {
            machine.accepted(isAdmitted: true)
            machine.queued(id)
            machine.ended(id, wasReady: true)
        }
        #expect(machine.queuedCount == 4)
    }

    /// Shows P189.
    @Test func `a departed sender that the program has just taken is not counted as dropped`() {
        var machine = machine(places: 1)
        for id in 1...3 {
            machine.accepted(isAdmitted: true)
            machine.queued(id)
            machine.ended(id, wasReady: true)
        }
        #expect(commands(&machine, hasJustTaken: [1]).contains(.dropDeparted(1)) && machine.dropped == 1)
        machine.taken(1)
        #expect(machine.dropped == 1 && machine.queuedCount == 1)
    }

    @Test func `a shortage pauses accepting, longer each time, whoever connects meanwhile`() {
        var machine = machine(places: 4)
        machine.becameReady()
        var deadlines: [UInt64] = []
        for _ in 0..<5 {
            for command in commands(&machine, accept: { $0.acceptFailed(Errno(24), at: 0) }) {
                if case .setDeadline(let deadline?) = command { deadlines.append(deadline / 1_000_000) }
            }
            machine.becameReady()
            #expect(machine.nextCommand() == nil)
            machine.deadlinePassed()
        }
        #expect(deadlines == [100, 200, 400, 800, 1000])
    }

    @Test func `a socket that cannot accept ends the server instead of pausing it`() {
        var machine = machine(places: 4)
        machine.becameReady()
        // The descriptor is no listening socket.
        let invalid = Errno(22)
        let error = TransportError(.system, underlyingErrno: invalid.rawValue, "cannot accept more connections")
        let expected: [ListenerMachine.Command] = [.accept, .stopListening, .endPresenting(error), .finished]
        #expect(commands(&machine, accept: { $0.acceptFailed(invalid, at: 0) }) == expected)
    }

    @Test func `a sender that was still sending its token when the server ended was not rejected`() {
        var machine = machine(places: 4)
        machine.accepted(isAdmitted: true)
        machine.close()
        machine.ended(1, wasReady: false)
        #expect(machine.refused == 0 && commands(&machine).last == .finished)
    }
}
