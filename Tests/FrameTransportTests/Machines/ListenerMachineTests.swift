import TestDescriptions
import Testing

@testable import FrameTransport

/// Who is accepted, and who is remembered, without any socket.
@Suite(.tags(.computes)) struct ListenerMachineTests {
    /// A machine, and what it calls.
    private final class Rig: ListenerMachine.System {
        enum Call: Equatable {
            case accept, admit(Int), turnAway(FrameServer.Statistics.Refusal), makeWay(Int), paused(Errno), yield
            case stopListening, endPresenting(TransportError?), closeConnections, drainConnections, finish
        }

        var machine: ListenerMachine
        var statistics = FrameServer.Statistics()
        let now: UInt64 = 0
        private var calls: [Call] = []
        /// What accepting brings: a connection, or a failure.
        var waiting: [Result<Bool, Errno>] = []
        var keepsPlace = false
        private(set) var dropLimits: Set<Int> = []

        init(places: Int = FrameServer.Limits().maximumConnections, handshakes: Int? = nil) {
            var limits = FrameServer.Limits()
            limits.maximumConnections = places
            if let handshakes { limits.maximumHandshakes = handshakes }
            machine = ListenerMachine(limits: limits, usesTokens: handshakes != nil)
        }

        /// What was called since this was last asked.
        func takeCalls() -> [Call] {
            defer { calls = [] }
            return calls
        }

        func report(_ event: (inout ListenerMachine, Rig) -> Void) {
            event(&machine, self)
            while machine.isAccepting { machine.acceptNext(self) }
        }

        /// One connection comes, whose user may connect.
        func connect() { report { $0.accepted(isAdmitted: true, $1) } }

        func end(_ id: Int, wasReady: Bool = true) { report { $0.ended(id, wasReady: wasReady, $1) } }

        // MARK: ListenerMachine.System

        func count(_ change: (inout FrameServer.Statistics) -> Void) { change(&statistics) }

        func accept() throws(Errno) -> Bool? {
            calls.append(.accept)
            return waiting.isEmpty ? nil : try waiting.removeFirst().get()
        }

        func makeWay(_ id: Int) -> Bool {
            calls.append(.makeWay(id))
            return !keepsPlace
        }

        // With every end.
        func dropDeparted(beyond count: Int) { dropLimits.insert(count) }

        func admit(_ id: Int) { calls.append(.admit(id)) }
        func turnAway(for reason: FrameServer.Statistics.Refusal) { calls.append(.turnAway(reason)) }
        func paused(_ error: Errno) { calls.append(.paused(error)) }
        func yield() { calls.append(.yield) }
        func stopListening() { calls.append(.stopListening) }
        func endPresenting(_ error: TransportError?) { calls.append(.endPresenting(error)) }
        func closeConnections() { calls.append(.closeConnections) }
        func drainConnections() { calls.append(.drainConnections) }
        func finish() { calls.append(.finish) }
    }

    @Test func `a turn accepts a limited number, and then others have theirs`() {
        let rig = Rig(places: 1000)
        rig.waiting = Array(repeating: .success(true), count: 1000)
        rig.report { machine, _ in machine.becameReady() }
        let first = rig.takeCalls()
        #expect(first.count { $0 == .accept } == ListenerMachine.acceptsPerTurn && first.last == .yield)
        rig.report { machine, _ in machine.resume() }
        #expect(rig.takeCalls().count { $0 == .accept } == ListenerMachine.acceptsPerTurn)
    }

    @Test func `one connection over the limit is turned away, and a freed place is used again`() {
        let rig = Rig(places: 1)
        rig.waiting = [.success(true), .success(true), .success(false)]
        rig.report { machine, _ in machine.becameReady() }
        #expect(
            rig.takeCalls()
                == [.accept, .admit(1), .accept, .turnAway(.place), .accept, .turnAway(.user), .accept]
        )
        #expect(rig.statistics.connections == 1)
        rig.end(1)
        #expect(rig.dropLimits == [1])
        rig.connect()
        #expect(rig.takeCalls() == [.admit(2)] && rig.statistics.refusals == [.place: 1, .user: 1])
        #expect(rig.statistics.connections == 1 && rig.statistics.acceptedConnections == 2)
    }

    @Test func `senders that have gone before they are accepted cost a turn like others`() {
        let rig = Rig()
        rig.waiting = Array(repeating: .failure(.aborted), count: 1000)
        rig.report { machine, _ in machine.becameReady() }
        #expect(rig.takeCalls().count { $0 == .accept } == ListenerMachine.acceptsPerTurn)
    }

    @Test(arguments: [false, true])
    func `a server without connections has ended at once`(drains: Bool) {
        let rig = Rig()
        rig.report { drains ? $0.drain($1) : $0.close($1) }
        #expect(rig.takeCalls() == [.stopListening, .endPresenting(nil), .finish])
        rig.report { $0.close($1) }
        #expect(rig.takeCalls().isEmpty)
    }

    @Test func `a server that drains can still be closed`() {
        let rig = Rig()
        rig.connect()
        rig.report { $0.started(1, $1) }
        rig.report { $0.drain($1) }
        rig.report { $0.close($1) }
        #expect(
            rig.takeCalls() == [.admit(1), .stopListening, .endPresenting(nil), .drainConnections, .closeConnections]
        )
    }

    @Test func `the oldest connection without a token gives way to one more, and to one that finds no place`() {
        let rig = Rig(places: 3, handshakes: 2)
        for _ in 0..<3 { rig.connect() }
        #expect(rig.takeCalls() == [.admit(1), .admit(2), .makeWay(1), .admit(3)])
        rig.end(1, wasReady: false)
        rig.report { machine, _ in
            machine.tokenShown(2)
            machine.tokenShown(3)
        }
        // One place is left; the second to come takes it over.
        rig.connect()
        #expect(rig.takeCalls() == [.admit(4)])
        rig.connect()
        #expect(rig.takeCalls() == [.makeWay(4), .admit(5)])
        // The token of the fifth has just come, so that there is no place for the sixth.
        rig.keepsPlace = true
        rig.connect()
        #expect(rig.takeCalls() == [.makeWay(5), .turnAway(.place)])
        rig.report { machine, _ in machine.tokenShown(5) }
        rig.end(4, wasReady: false)
        #expect(rig.statistics.refusedConnections == 3 && rig.machine.connectionCount == 3)
    }

    @Test func `a shortage pauses accepting, longer each time, whoever connects meanwhile`() {
        let rig = Rig(places: 4)
        let shortage = Errno(24)
        var pauses: [UInt64] = []
        rig.report { machine, _ in machine.becameReady() }
        for round in 1...5 {
            rig.waiting = [.failure(shortage)]
            rig.report { round == 1 ? $0.becameReady() : $0.deadlinePassed($1) }
            #expect(rig.takeCalls().suffix(2) == [.accept, .paused(shortage)])
            pauses.append((rig.machine.deadline ?? 0) / 1_000_000)
            rig.report { machine, _ in machine.becameReady() }
            #expect(rig.takeCalls().isEmpty && rig.statistics.isAcceptingPaused && rig.statistics.acceptPauses == round)
        }
        #expect(pauses == [100, 200, 400, 800, 1000])
        rig.report { $0.deadlinePassed($1) }
        #expect(rig.machine.deadline == nil && !rig.statistics.isAcceptingPaused)
    }

    @Test func `a server that ends while it pauses does not pause any longer`() {
        let rig = Rig()
        rig.waiting = [.failure(Errno(24))]
        rig.report { machine, _ in machine.becameReady() }
        rig.report { $0.close($1) }
        #expect(rig.machine.deadline == nil && !rig.statistics.isAcceptingPaused)
    }

    @Test func `a socket that cannot accept ends the server instead of pausing it`() {
        let rig = Rig(places: 4)
        // The descriptor is no listening socket.
        let invalid = Errno(22)
        rig.waiting = [.failure(invalid)]
        rig.report { machine, _ in machine.becameReady() }
        let error = TransportError(.system, underlyingErrno: invalid.rawValue, "cannot accept more connections")
        #expect(rig.takeCalls() == [.accept, .stopListening, .endPresenting(error), .finish])
    }

    @Test func `a sender that was still sending its token when the server ended was not rejected`() {
        let rig = Rig(places: 4)
        rig.connect()
        rig.report { $0.close($1) }
        rig.end(1, wasReady: false)
        #expect(rig.statistics.refusedConnections == 0 && rig.takeCalls().last == .finish)
    }
}
