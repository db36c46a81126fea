import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// Who waits for a sender's connection, and how attempts end, without any socket or clock.
@Suite(.tags(.computes)) struct SenderOpeningMachineTests {
    /// Where an attempt is when somebody gives up.
    enum Stage: CaseIterable {
        case betweenAttempts
        case connecting
        case handshaking
    }

    private func bench(
        at stage: Stage,
        _ change: (inout SocketConnection.Configuration) -> Void = { _ in }
    ) -> SenderBench {
        let bench = SenderBench { settings in
            // Longer than any limit here.
            settings.retryInterval = .seconds(1000)
            settings.connectTimeout = .seconds(1000)
            settings.handshakeTimeout = .seconds(1000)
            settings.tokens = HandshakeTokens(shared: [1, 2, 3])
            change(&settings)
        }
        bench.attempts = stage == .betweenAttempts ? [] : stage == .connecting ? [.hanging] : [.connected]
        return bench
    }

    /// Shows P203.
    @Test(arguments: Stage.allCases, [true, false])
    func `an attempt that somebody else wants continues`(stage: Stage, isForGood: Bool) {
        let bench = bench(at: stage)
        bench.open(waiter: 1, seconds: 2)
        if isForGood { bench.change { $0.open(bench) } } else { bench.open(waiter: 2) }
        bench.open(waiter: 3)
        bench.abandon(waiter: 3)
        bench.pass(seconds: 3)
        #expect(bench.openings[1] == [.openTimedOut] && bench.openings[3] == [.cancelled])
        #expect(bench.machine.publishedState != .idle)
        #expect(bench.connects == 1)
        switch stage {
        case .betweenAttempts:
            bench.attempts = [.connected]
            bench.pass(seconds: 1000)
        case .connecting:
            bench.makeRoom(0)
        case .handshaking:
            break
        }
        bench.receive(.bytes([1, 2, 3]))
        #expect(bench.machine.publishedState == .connected)
        #expect(bench.openings[2] == (isForGood ? nil : [nil]))
    }

    @Test(arguments: Stage.allCases, [true, false])
    func `one attempt has the time that it takes, and is not repeated`(stage: Stage, isAnswered: Bool) {
        let bench = bench(at: stage) { ($0.connectTimeout, $0.handshakeTimeout) = (.seconds(3), .seconds(5)) }
        bench.openOnce(waiter: 1)
        #expect(bench.openings[1] == (stage == .betweenAttempts ? [.openTimedOut] : nil))
        bench.pass(seconds: 2)
        if isAnswered, stage != .betweenAttempts {
            if stage == .connecting { bench.makeRoom(0) }
            bench.receive(.bytes([1, 2, 3]))
            #expect(bench.openings[1] == [nil] && bench.machine.publishedState == .connected)
        } else {
            bench.pass(seconds: 4)
            #expect(bench.openings[1] == [.openTimedOut] && bench.machine.publishedState == .idle)
        }
        #expect(bench.connects == 1)
    }

    /// Shows P203.
    @Test func `a caller whose limit ends with the pause between two attempts gets one of its own`() {
        let bench = bench(at: .betweenAttempts) { $0.tokens = nil }
        bench.change { $0.open(bench) }
        bench.attempts = [.connected]
        bench.open(waiter: 1, seconds: 1000)
        #expect(bench.openings[1] == [nil] && bench.connects == 2)
    }

    /// Shows P203.
    @Test func `an attempt that is due is made before callers whose limit has passed give up`() {
        let bench = bench(at: .betweenAttempts) { $0.tokens = nil }
        bench.change { $0.open(bench) }
        bench.attempts = [.connected]
        bench.open(waiter: 1, seconds: 1001)
        // The report is late.
        bench.now += 1002 * SenderBench.second
        bench.change { $0.deadlinePassed(bench) }
        #expect(bench.openings[1] == [nil] && bench.connects == 2)
    }

    /// Shows P203.
    @Test(arguments: [true, false])
    func `a caller that begins to wait while the last connection ends gets an attempt within its limit`(
        isFrameCompleted: Bool
    ) throws {
        for (seconds, connects) in [(2, 2), (4, 2), (10, 1), (nil, 1)] as [(UInt64?, Int)] {
            let bench = SenderBench.open { $0.retryInterval = .seconds(4) }
            bench.room = 100
            try bench.submit(FrameMessage([UInt8](repeating: 1, count: 20_000)), ticket: 1)
            bench.receive(.end)
            bench.pass(nanoseconds: 200_000_000)
            bench.open(waiter: 1, seconds: seconds)
            bench.attempts = [.connected]
            // The server takes the rest of the frame, or the time for the end is over.
            if isFrameCompleted { bench.makeRoom(.max) } else { bench.pass(nanoseconds: 800_000_000) }
            #expect(bench.frames[1] == [isFrameCompleted ? nil : .connectionLost])
            #expect(bench.connects == connects, "within \(seconds ?? 0) seconds")
            bench.pass(seconds: 4)
            #expect(bench.openings[1] == [nil])
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `a failed attempt says nothing about a later opening, or a caller that waits for a later one`(
        isTurnedAway: Bool,
        isForGood: Bool
    ) {
        let bench = bench(at: .handshaking)
        bench.attempts = [isTurnedAway ? .connected : .failed(.refused)]
        // The connection may be wanted by others as well.
        if isForGood { bench.change { $0.open(bench) } }
        bench.open(waiter: 1, seconds: 2)
        if isTurnedAway { bench.receive(.end) }
        bench.pass(seconds: 2)
        let code: TransportError.Code = isTurnedAway ? .tokenRejected : .openTimedOut
        #expect(bench.openings[1] == [code])
        #expect((bench.waiters[1]?.result.value?.error?.underlyingErrno == nil) == isTurnedAway)
        // The server is silent this time.
        bench.input = []
        bench.attempts = [.connected]
        let connects = bench.connects
        bench.open(waiter: 2, seconds: 2)
        bench.pass(seconds: 2)
        #expect(bench.connects == connects + 1 && bench.openings[2] == [.openTimedOut])
        #expect(bench.waiters[2]?.result.value?.error?.underlyingErrno == nil)
    }

    @Test func `a deadline that passes late ends nothing that was due after it`() {
        let bench = bench(at: .handshaking) { $0.handshakeTimeout = .seconds(2) }
        bench.change { $0.open(bench) }
        bench.open(waiter: 1, seconds: 1)
        bench.open(waiter: 2, seconds: 3)
        bench.now += 5 * SenderBench.second
        bench.change { $0.deadlinePassed(bench) }
        // The token has been there for long, and its report comes only now.
        bench.receive(.bytes([1, 2, 3]))
        #expect(bench.openings == [1: [.openTimedOut], 2: [nil]])
    }

    @Test func `the pauses after attempts that were turned away start over with a new opening`() {
        let bench = bench(at: .handshaking) { $0.retryInterval = .seconds(1) }
        bench.attempts = [SenderBench.Attempt](repeating: .connected, count: 5)
        bench.open(waiter: 1, seconds: 4)
        bench.receive(.end)
        bench.pass(seconds: 1)
        // The second pause is twice as long.
        bench.receive(.end)
        bench.pass(seconds: 3)
        #expect(bench.connects == 3 && bench.openings[1] == [.tokenRejected])
        bench.open(waiter: 2, seconds: 4)
        bench.receive(.end)
        bench.pass(seconds: 1)
        #expect(bench.connects == 5)
    }

    @Test func `an established connection stays wanted if its opening is cancelled too late`() {
        let bench = bench(at: .betweenAttempts) { $0.tokens = nil }
        bench.attempts = [.connected]
        bench.open(waiter: 1)
        bench.abandon(waiter: 1)
        #expect(bench.openings[1] == [nil])
        #expect(bench.machine.publishedState == .connected)
    }

    @Test(arguments: [
        (SenderBench.Attempt.unusable(TransportError(.invalidPath, "no path")), TransportError.Code.invalidPath),
        (.refused(TransportError(.peerRefused, "somebody else's")), .peerRefused),
    ])
    func `a permanent failure ends the connection for good, and is reported to everybody`(
        attempt: SenderBench.Attempt,
        code: TransportError.Code
    ) {
        let bench = SenderBench()
        bench.attempts = [attempt]
        bench.open(waiter: 1)
        bench.open(waiter: 2)
        #expect(bench.openings == [1: [code], 2: [code]])
        #expect(bench.ends.map(\.error?.code) == [code])
        guard case .ended(.failed(let error))? = bench.states.last else {
            Issue.record("the states are \(bench.states)")
            return
        }
        #expect(error.code == code)
        // The first cause counts.
        bench.change { $0.close(.callEnded, bench) }
        bench.change { $0.open(bench) }
        bench.pass(seconds: 1000)
        #expect(bench.ends.count == 1 && bench.beginningsAndEnds.count == 1 && bench.connects == 1)
    }

    /// Shows P203.
    @Test(arguments: Stage.allCases)
    func `a close ends every wait, and the attempt`(stage: Stage) {
        let bench = bench(at: stage)
        bench.open(waiter: 1)
        bench.open(waiter: 2, seconds: 5)
        let connects = bench.connects
        bench.change { $0.close(.callEnded, bench) }
        bench.open(waiter: 3)
        #expect(bench.openings == [1: [.closed], 2: [.closed], 3: [.closed]])
        if stage == .handshaking {
            // The server may have let this side in, and is to see an orderly end.
            #expect(bench.isShutDown && bench.ends.isEmpty)
            bench.receive(.bytes([1, 2, 3]), .end)
            #expect(bench.states == [.started, .handshaking, .ended(.closedLocally(.callEnded))])
        }
        #expect(bench.ends == [.closedLocally(.callEnded)])
        #expect(!bench.hasSocket && bench.deadline == nil && !bench.watchesRoom)
        bench.pass(seconds: 5000)
        #expect(bench.connects == connects)
    }

    /// Shows P135.
    @Test(arguments: [UInt64(0), 1, 999_999])
    func `attempts are at least a millisecond apart`(interval: UInt64) throws {
        let bench = SenderBench { $0.retryInterval = .nanoseconds(interval) }
        bench.change { $0.open(bench) }
        #expect(bench.connects == 1)
        #expect(try #require(bench.deadline) >= bench.now + 1_000_000)
    }
}
