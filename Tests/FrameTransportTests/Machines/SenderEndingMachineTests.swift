import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// How a sender's connection ends, whoever ends it, without any socket or clock.
@Suite(.tags(.computes)) struct SenderEndingMachineTests {
    private static let hello = ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio]))
    private static let byPeer = CloseReason.closedByPeer(.stoppedByUser)

    private func frame(_ seed: Int) -> FrameMessage {
        FrameMessage(body(seed, count: 1000), sequence: UInt64(seed))
    }

    private func audio() -> AudioBlock {
        AudioBlock(kind: .app, sampleRate: 44_100, channels: 1, samples: FrameBytes(body(1, count: 200)))
    }

    /// A connection whose socket is full within a frame.
    private func benchWithinFrame() throws -> SenderBench {
        let bench = SenderBench.open()
        bench.receive(Self.hello)
        bench.room = 100
        try bench.submit(frame(1), ticket: 1)
        return bench
    }

    // MARK: The server ends

    @Test(arguments: [Errno.brokenPipe, .reset])
    func `a server that is completely gone is left at once`(failure: Errno) throws {
        // Found out by the write that follows the end, or by a later report.
        for isKnownAtOnce in [true, false] {
            let bench = try benchWithinFrame()
            if isKnownAtOnce { bench.makeFail(failure) }
            bench.receive(.end)
            #expect(bench.hasSocket == !isKnownAtOnce)
            if !isKnownAtOnce {
                bench.makeFail(failure)
                bench.change { $0.becameReady(readable: true, writable: false, bench) }
            }
            #expect(!bench.hasSocket && bench.frames[1] == [.connectionLost])
            #expect(bench.beginningsAndEnds.map(\.closeReason) == [nil, Self.byPeer])
        }
    }

    @Test func `a close while waiting for the server's end completes the message, and is final`() throws {
        let bench = try benchWithinFrame()
        bench.receive(.end)
        bench.open(waiter: 1)
        bench.change { $0.close(.callEnded, bench) }
        #expect(bench.openings[1] == [.closed] && bench.hasSocket)
        bench.makeRoom(.max / 2)
        #expect(bench.frames[1] == [nil])
        #expect(bench.beginningsAndEnds.map(\.closeReason) == [nil, Self.byPeer, .closedLocally(.callEnded)])
        #expect(bench.ends == [.closedLocally(.callEnded)])
        bench.pass(seconds: 100)
        #expect(bench.connects == 1)
    }

    // MARK: This side ends

    /// Shows P124.
    @Test(arguments: [true, false])
    func `what was accepted before a close is sent, and the reason is the last message`(saidHello: Bool) throws {
        let bench = SenderBench.open()
        if saidHello { bench.receive(Self.hello) }
        let start = bench.output.count
        bench.room = 0
        if saidHello { try bench.lane.submit(audio()) }
        try bench.submit(frame(1), ticket: 1)
        bench.change { $0.close(.callEnded, bench) }
        #expect(throws: TransportError.self) { try bench.submit(frame(2), ticket: 2) }
        // What the receiver still says changes nothing.
        bench.receive(.ping(1), .hello(ControlRequest.Hello(wants: [])), .pause, .stop(.superseded))
        bench.makeRoom(.max / 2)
        #expect(bench.frames[1] == [nil])
        let last = saidHello ? SenderStatus(state: .stopped(.callEnded)).encoded() : []
        #expect(Array(bench.output.dropFirst(start).suffix(1000 + last.count)) == body(1, count: 1000) + last)
        #expect(bench.isShutDown && bench.ends.isEmpty)
        bench.receive(.end)
        #expect(bench.ends == [.closedLocally(.callEnded)])
    }

    // MARK: Reasons

    /// What happens to an open connection that does not reopen, in this order.
    enum Cause: Sendable {
        case close
        case stop
        case garbage
        case end
        case reset
        case writeFailure
    }

    /// Shows P29, P120.
    @Test(
        arguments: [
            ([.close, .stop, .reset], "closedLocally"), ([.close, .writeFailure], "closedLocally"),
            ([.close, .garbage, .end], "closedLocally"),
            ([.stop, .close, .end], "closedByPeer"), ([.stop, .reset], "closedByPeer"),
            ([.end, .close], "closedByPeer"),
            ([.garbage, .close], "peer.malformed"), ([.reset, .close], "connection.lost"),
            ([.writeFailure, .close], "connection.lost"), ([.writeFailure, .end], "closedByPeer"),
            ([.writeFailure, .reset], "connection.lost"), ([.writeFailure, .stop, .close], "closedByPeer"),
        ] as [([Cause], String)]
    )
    func `the first cause of an end is the reason, and is reported once`(causes: [Cause], name: String) {
        let bench = SenderBench.open { $0.reopens = false }
        bench.receive(Self.hello)
        for cause in causes {
            switch cause {
            case .close: bench.change { $0.close(.stoppedByUser, bench) }
            case .stop: bench.receive(.stop(.stoppedByUser))
            case .garbage: bench.receive(.bytes([0x16, 3, 1]))
            case .end: bench.receive(.end)
            case .reset: bench.receive(.failure(.reset))
            case .writeFailure:
                bench.makeFail(.brokenPipe)
                try? bench.submit(frame(1), ticket: 1)
            }
        }
        bench.pass(seconds: 100)
        #expect(bench.ends.map(\.name) == [name])
        let isNamed = bench.ends.first?.error?.byteOffset == UInt64(Self.hello.encoded().count)
        #expect(isNamed == (name == "peer.malformed"), "the first wrong byte is named")
        #expect(bench.beginningsAndEnds.count == 2)
        #expect(bench.openings.isEmpty && !bench.hasSocket && bench.deadline == nil && !bench.watchesRoom)
    }

    @Test func `a failed write is explained by what can be read, or else by its own error`() throws {
        // What there is to read, how the write fails, what it comes to, and whether that is known at once.
        let explanations: [(SenderBench.Input?, Errno, String, Bool)] = [
            (.end, .brokenPipe, "closedByPeer", true), (.failure(.reset), .brokenPipe, "connection.lost", true),
            (nil, .brokenPipe, "connection.lost", false), (nil, .reset, "connection.lost", false),
            (nil, .accessDenied, "connection.lost", true),
        ]
        for (input, failure, name, isKnownAtOnce) in explanations {
            let bench = SenderBench.open { $0.reopens = false }
            bench.input = input.map { [$0] } ?? []
            bench.makeFail(failure)
            try bench.submit(frame(1), ticket: 1)
            #expect(bench.ends.isEmpty != isKnownAtOnce && !bench.lane.isAccepting)
            bench.pass(seconds: 1)
            #expect(bench.ends.map(\.name) == [name])
        }
    }

    @Test func `a server that accepts nothing more and writes endlessly is left in time`() throws {
        let bench = SenderBench.open { $0.reopens = false }
        bench.input = [.bytes(body(1, count: 3_000_000))]
        bench.makeFail(.brokenPipe)
        try bench.submit(frame(1), ticket: 1)
        for _ in 0..<3 where bench.wantsTurn { bench.runTurn() }
        #expect(bench.ends.isEmpty && bench.wantsTurn)
        bench.pass(seconds: 1)
        #expect(bench.ends.map(\.error?.underlyingErrno) == [Errno.brokenPipe.rawValue])
    }
}

extension SenderBench {
    /// Lets the next write fail.
    fileprivate func makeFail(_ error: Errno) {
        writeFailure = error
        room = .max / 2
    }
}
