import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// How a sender's connection opens, obeys and ends, without any socket or clock.
@Suite(.tags(.computes)) struct SenderMachineTests {
    private let token = HandshakeTokens(own: Array("the sender's".utf8), expected: Array("the host's".utf8))
    private static let hello = ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio]))

    private func frame(_ seed: Int, count: Int = 1000) -> FrameMessage {
        FrameMessage(body(seed, count: count), sequence: UInt64(seed))
    }

    /// Shows P119.
    @Test func `a receiver that discards something says so, also if it has not said hello`() {
        let bench = SenderBench.open()
        bench.receive(.bytes(Array("POST /discarded HTTP/1.1\r\nContent-Length: 0\r\n\r\n".utf8)), .end)
        #expect(bench.discardNotices == 1 && bench.skippedRequests == 0)
        #expect(bench.beginningsAndEnds.last == .disconnected(.closedByPeer(.stoppedByUser)))
    }

    // MARK: Tokens

    @Test(arguments: [true, false])
    func `whether memory can be shared is known as long as the connection is open`(sharesMemory: Bool) {
        let bench = SenderBench.open(sharesMemory: sharesMemory)
        #expect(bench.terms.last?.isConnected == true && bench.terms.last?.mayShareMemory == sharesMemory)
        bench.receive(.end)
        #expect(bench.terms.last?.isConnected == false && bench.terms.last?.mayShareMemory == false)
    }

    @Test(arguments: [1, 3, 11])
    func `a token that the socket accepts in pieces is sent completely`(room: Int) {
        let bench = SenderBench { $0.tokens = token }
        bench.attempts = [.connected]
        bench.room = room
        bench.change { $0.open(bench) }
        bench.receive(.bytes(token.expected + Self.hello.encoded()))
        #expect(bench.requests.isEmpty)
        while bench.output.count < token.own.count { bench.makeRoom(room) }
        bench.makeRoom(.max / 2)
        #expect(bench.requests == [Self.hello])
        #expect(bench.output == token.own + SenderStatus(state: .live).encoded())
    }

    /// What a server does in place of showing its token, and what comes of it.
    ///
    /// Shows P136, P148.
    @Test(arguments: [
        (SenderBench.Input.end, false), (.bytes(Array("the ghost!".utf8)), true), (.failure(.reset), false),
    ])
    func `a server with another token is left for good, and one that disappears is retried`(
        input: SenderBench.Input,
        isFinal: Bool
    ) {
        let bench = SenderBench { $0.tokens = token }
        bench.attempts = [.connected]
        bench.change { $0.open(bench) }
        bench.open(waiter: 1)
        bench.receive(input)
        #expect(bench.openings[1] == (isFinal ? [.tokenRejected] : nil) && bench.output == token.own)
        #expect(bench.ends.map(\.error?.code) == (isFinal ? [.tokenRejected] : []))
        bench.pass(seconds: 1)
        #expect((bench.connects > 1) == !isFinal)
    }

    /// The pause until the next attempt after the server has ended the connection, in milliseconds.
    private func pause(
        _ bench: SenderBench,
        after end: SenderBench.Input = .end,
        of frame: FrameMessage? = nil
    ) throws -> UInt64 {
        if let frame { try bench.submit(frame, ticket: 1) }
        bench.receive(end)
        bench.input = []
        bench.attempts = [.connected]
        let (start, before) = (bench.now, bench.connects)
        for _ in 0..<10_000 where bench.connects == before { bench.pass(nanoseconds: 1_000_000) }
        return (bench.now - start) / 1_000_000
    }

    /// Shows P148.
    @Test func `connections that come to nothing are followed by growing pauses`() throws {
        let bench = SenderBench.open()
        let growing: [UInt64] = [100, 200, 400, 800, 1600, 3200, 5000, 5000]
        for time in growing { #expect(try pause(bench) == time) }
        // A frame was taken.
        #expect(try pause(bench, of: frame(1)) == 100)
        #expect(try pause(bench) == 100)
        // Of a failure it is not known, and a frame that was not read counts for nothing.
        #expect(try pause(bench, after: .failure(.reset), of: frame(2)) == 200)
        bench.hasReadAll = false
        #expect(try pause(bench, of: frame(3)) == 400)
        // A connection that lasts has not come to nothing, although there was nothing to send.
        bench.pass(seconds: 5)
        #expect(try pause(bench) == 100)
        #expect(try pause(bench) == 100)
        #expect(try pause(bench) == 200)
    }

    // MARK: Obedience

    @Test func `a preference with a wrong field is refused by a status that counts it, and changes nothing`() throws {
        let bench = SenderBench.open()
        let wrong = Array("POST /prefer HTTP/1.1\r\nContent-Length: 0\r\nPrefer-Quality: 101\r\n\r\n".utf8)
        // Before the hello there is nobody to tell.
        bench.receive(.bytes(wrong))
        #expect(bench.output.isEmpty && bench.skippedRequests == 1)
        bench.receive(Self.hello, .prefer(ControlRequest.Preferences(quality: 5)), .pause)
        for count in 1...3 {
            bench.receive(.bytes(wrong))
            var status = SenderStatus(state: .paused)
            status.refusedPreferences = UInt64(count)
            let answer = status.encoded()
            #expect(Array(bench.output.suffix(answer.count)) == answer)
        }
        #expect(bench.skippedRequests == 4 && bench.ends.isEmpty)
        #expect(bench.terms.last?.preferences == ControlRequest.Preferences(quality: 5))
        // An unknown request is no preference.
        let end = bench.output.count
        bench.receive(.bytes(Array("POST /later HTTP/1.1\r\nContent-Length: 0\r\n\r\n".utf8)))
        #expect(bench.output.count == end && bench.skippedRequests == 5)
    }

    /// Shows P27.
    @Test func `a further hello replaces the selection, and neither preferences nor a pause`() throws {
        let bench = SenderBench.open()
        let preferences = ControlRequest.Preferences(frameRateInMillihertz: 5000)
        bench.receive(Self.hello, .prefer(preferences), .refresh, .pause)
        bench.receive(.hello(ControlRequest.Hello(wants: .audio)))
        let terms = try #require(bench.terms.last)
        #expect(terms.wants == .audio && terms.isPaused && terms.preferences == preferences && terms.refreshes == 1)
        let answer = SenderStatus(state: .paused).encoded()
        #expect(Array(bench.output.suffix(answer.count)) == answer)
    }

    // MARK: Fairness

    /// Shows P151.
    @Test(arguments: [ControlRequest.ping(1), .pause, .refresh, hello])
    func `a flood of requests is handled completely, in turns`(request: ControlRequest) {
        let bench = SenderBench.open()
        let count = 5000
        bench.input = [.bytes(Self.hello.encoded() + (0..<count).flatMap { _ in request.encoded() })]
        var turns = 0
        var handled = 0
        bench.change { $0.becameReady(readable: true, writable: false, bench) }
        while true {
            #expect(bench.readsInTurn <= SenderMachine.readsPerTurn)
            // A turn ends with the read in which it reaches its limit.
            #expect(bench.requests.count - handled <= SenderMachine.requestsPerTurn + SenderMachine.bytesPerRead / 38)
            handled = bench.requests.count
            turns += 1
            guard bench.wantsTurn else { break }
            // Further reports do not extend a turn that is over.
            bench.change { $0.becameReady(readable: true, writable: false, bench) }
            #expect(bench.readsInTurn == 0)
            bench.runTurn()
        }
        #expect(turns > 20)
        #expect(bench.requests.count == count + 1)
    }

    /// Shows P30.
    @Test func `a server that endlessly sends anything else is limited to its turns`() throws {
        let bench = SenderBench.open()
        bench.input = [.bytes(body(1, count: 1_000_000))]
        bench.change { $0.becameReady(readable: true, writable: false, bench) }
        var turns = 1
        while bench.wantsTurn {
            #expect(bench.readsInTurn <= SenderMachine.readsPerTurn)
            bench.runTurn()
            turns += 1
        }
        #expect(turns >= 1_000_000 / (SenderMachine.readsPerTurn * SenderMachine.bytesPerRead))
        #expect(bench.skippedRequests == 1 && bench.input.isEmpty)
        #expect(bench.machine.publishedState == .connected)
        try bench.submit(frame(1), ticket: 1)
        #expect(bench.frames[1] == [nil])
    }

    // MARK: Sending

    /// How many bytes the server takes each second, and whether the connection lasts.
    ///
    /// Shows P158.
    @Test(arguments: [(0, 10, true), (0, 9, false), (1, 60, false), (90, 10, false)])
    func `a server that accepts nothing is given up, and one that accepts little is not`(
        rate: Int,
        seconds: Int,
        isGivenUp: Bool
    ) throws {
        let bench = SenderBench.open { $0.reopens = false }
        bench.room = 0
        try bench.submit(frame(1), ticket: 1)
        for _ in 0..<seconds {
            bench.makeRoom(rate)
            bench.pass(seconds: 1)
        }
        #expect(bench.ends.map(\.error?.code) == (isGivenUp ? [.sendTimedOut] : []))
        #expect(bench.frames[1] == (isGivenUp ? [.sendTimedOut] : nil))
    }

    @Test func `frames that fit set no deadline and watch for no room`() throws {
        let bench = SenderBench.open()
        let before = bench.deadlinesSet
        for number in 1...100 { try bench.submit(frame(number), ticket: number) }
        #expect(bench.deadlinesSet == before && bench.deadline == nil && !bench.watchesRoom)
        #expect(bench.frames.count == 100)
    }
}
