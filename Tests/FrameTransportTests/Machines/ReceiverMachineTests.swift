import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameTransport

/// What the receiving end of a connection decides, without any socket.
@Suite(.tags(.computes)) struct ReceiverMachineTests {
    private func otherMessage(_ fields: String, body: Int) -> [UInt8] {
        Array("HTTP/1.1 200 OK\r\nContent-Length: \(body)\r\n\(fields)\r\n".utf8) + [UInt8](repeating: 0, count: body)
    }

    private var audioFields: String {
        "Message-Type: audio\r\nAudio-Kind: app\r\nAudio-Sample-Rate: 44100\r\nAudio-Channels: 1\r\n"
    }

    // MARK: Turns

    @Test(
        arguments: [
            ("Message-Type: later\r\n", 0), ("Message-Type: later\r\n", 1),
            ("Message-Type: status\r\nSender-State: live\r\nControl-Version: 1\r\n", 0),
            ("Message-Type: audio\r\nAudio-Kind: app\r\nAudio-Sample-Rate: 44100\r\nAudio-Channels: 1\r\n", 2),
            ("Buffer-Width: 1\r\nBuffer-Height: 1\r\nBuffer-Orientation: 1\r\n", 0),
            ("Buffer-Width: 1\r\nBuffer-Height: 1\r\nBuffer-Orientation: 1\r\n", 1),
        ]
    ) func `a turn handles at most so many messages, of whatever kind`(_ fields: String, body: Int) {
        let rig = ReceiverRig()
        let flood = (0..<100).flatMap { _ in otherMessage(fields, body: body) }
        rig.arrive(flood)
        #expect(rig.yields == 1)
        let first = rig.machine.messages
        #expect(first == ReceiverMachine.Turn.messages)
        // Nothing happens before its next turn, whatever is reported.
        rig.arrive([])
        let second = rig.machine.messages
        #expect(second == first)
        rig.resumeToTheEnd()
        let all = rig.machine.messages
        #expect(all == 100)
        // While many wait, each has its turn after every message.
        let crowded = ReceiverRig()
        crowded.isCrowded = true
        crowded.arrive(flood)
        let one = crowded.machine.messages
        #expect(one == 1 && crowded.yields == 1)
        crowded.resumeToTheEnd()
        let every = crowded.machine.messages
        #expect(every == 100 && crowded.yields >= 99)
    }

    @Test func `a turn reads a limited number of bytes, a limited number of times`() {
        let bytes = ReceiverRig()
        bytes.arrive(message(body(1, count: 2_000_000)))
        let read = bytes.bytesRead
        #expect(bytes.yields == 1 && read <= ReceiverMachine.Turn.bytes + 2048)
        bytes.resumeToTheEnd()
        #expect(bytes.frames.count == 1)

        let crowded = ReceiverRig()
        crowded.isCrowded = true
        crowded.arrive(message(body(1, count: 2_000_000)))
        let little = crowded.bytesRead
        #expect(crowded.yields == 1 && little <= ReceiverMachine.Turn.bytesInCrowd + 2048)

        let reads = ReceiverRig()
        reads.readLimit = 1
        // One that reports more each time, as a sender does that writes byte by byte.
        reads.input = message(body(1, count: 100))
        reads.machine.becameReady([.readable, .hangup], reads)
        let count = reads.reads
        #expect(reads.yields == 1 && count == ReceiverMachine.Turn.reads)
    }

    // MARK: What nobody wants

    /// Shows P151.
    @Test func `what nobody wants has a quarter of a turn`() {
        let rig = ReceiverRig()
        rig.arrive((0..<4).flatMap { _ in otherMessage(audioFields, body: 250_000) })
        let most = ReceiverMachine.Turn.bytes / ReceiverMachine.Turn.weightOfSkippedBytes + (64 << 10)
        #expect(rig.bytesRead <= most && rig.yields == 1)
        rig.resumeToTheEnd()
        #expect(rig.input.isEmpty && rig.reason == nil)
    }

    @Test func `what nobody wants is skipped even if there is no memory for it`() {
        let small = FrameBytes.Pool(maximumIdleBytes: 0, largestChunk: 4096)
        let rig = ReceiverRig(pool: small)
        rig.arrive(otherMessage("Message-Type: later\r\n", body: 100_000) + message(body(1, count: 10)))
        rig.resumeToTheEnd()
        #expect(rig.frames.map(\.jpeg?.count) == [10] && rig.reason == nil)
    }

    // MARK: Room and memory

    @Test func `nothing is read for a consumer without room, and no deadline runs meanwhile`() {
        let rig = ReceiverRig { $0.limits.firstFrameTimeout = .seconds(10) }
        #expect(rig.deadline != nil)
        rig.room = 0
        rig.arrive(message(body(1, count: 10)))
        #expect(rig.reads == 0 && rig.deadline == nil)
        rig.room = 1
        rig.machine.roomAvailable(rig)
        #expect(rig.frames.count == 1)
    }

    /// Shows P181.
    @Test func `memory that was requested for a body is not used for the next one, and no deadline runs meanwhile`() {
        let rig = ReceiverRig {
            ($0.usualBody, $0.largestBody) = (1000, 100_000)
            $0.limits.firstFrameTimeout = .seconds(10)
        }
        #expect(rig.deadline != nil)
        rig.arrive(message(body(1, count: 5000)))
        #expect(rig.deadline == nil)
        rig.machine.send(.hello(ControlRequest.Hello(wants: [])), rig)
        rig.machine.send(.hello(ControlRequest.Hello(wants: .frames)), rig)
        rig.arrive(message(body(2, count: 9000)))
        #expect(rig.requested == [5000, 9000] && rig.withdrawals == 1)
        // What the first was told comes only now: there is no memory for the second.
        rig.machine.memoryAvailable(rig)
        #expect(rig.requested == [5000, 9000, 9000] && rig.frames.isEmpty)
        rig.makeMemoryAvailable()
        #expect(rig.frames.map(\.jpeg?.count) == [9000])
    }

    @Test func `what is read ahead uses no more than one usual body may`() {
        let rig = ReceiverRig { $0.usualBody = 1000 }
        rig.room = 8
        rig.arrive((0..<4).flatMap { message(body($0, count: 400)) })
        // Asked for room again when two of 400 are there and 1,000 is all that may be.
        #expect(rig.frames.count == 4)
        rig.room = 0
        rig.arrive((0..<4).flatMap { message(body($0, count: 400)) })
        #expect(rig.frames.count == 4)
    }

    @Test func `waiting frames count against what may be read ahead`() {
        let rig = ReceiverRig { $0.usualBody = 1000 }
        (rig.room, rig.waiting) = (8, 700)
        rig.arrive(message(body(1, count: 300)) + message(body(2, count: 300)))
        // Behind the second there is no place until those that wait have been taken.
        #expect(rig.frames.count == 1 && rig.waits == 1)
        rig.waiting = 0
        rig.machine.roomAvailable(rig)
        #expect(rig.frames.count == 2)
    }

    // MARK: What is discarded

    private static let notice = Array("POST /discarded HTTP/1.1\r\nContent-Length: 0\r\n\r\n".utf8)

    /// What a connection has when this side closes it.
    enum Untaken: CaseIterable {
        case nothing, frames, half, header, tooLarge

        func arrive(at rig: ReceiverRig) {
            switch self {
            case .nothing: break
            case .frames: rig.hasUntakenFrames = true
            case .half: rig.arrive(message(body(2, count: 10)).dropLast(1))
            case .header: rig.arrive([UInt8(ascii: "H")])
            case .tooLarge: rig.arrive(message(body(2, count: 2000)))
            }
        }
    }

    /// Shows P119.
    @Test(arguments: Untaken.allCases, [true, false])
    func `a sender of this package is told if something that was read is not taken`(_ untaken: Untaken, isOurs: Bool) {
        for reason in [nil, ControlRequest.FinishReason.callEnded] {
            let rig = ReceiverRig { $0.usualBody = 1000 }
            // Existing senders of Jitsi state no number, and read nothing.
            let info = FrameInfo(bufferSize: BufferSize(width: 1, height: 1), sequence: isOurs ? 1 : nil)
            rig.arrive(FrameHeader(contentLength: 10, info: info).encoded() + body(1, count: 10))
            untaken.arrive(at: rig)
            rig.machine.close(reason, rig)
            let isTold = isOurs && untaken != .nothing
            let stop = reason.map {
                ControlRequest.hello(.init(wantsInfo: true)).encoded() + ControlRequest.stop($0).encoded()
            }
            #expect(rig.written == (isTold ? Self.notice : []) + (stop ?? []) && rig.hasShutDownSending)
            // It finds out by what is left unread, unless it is told.
            rig.arrive(message(body(3, count: 10)))
            #expect(rig.input.isEmpty == isTold)
        }
    }

    /// Shows P119.
    @Test func `a sender that is behind with its requests is told before this side shuts down`() {
        let rig = ReceiverRig()
        let info = FrameInfo(bufferSize: BufferSize(width: 1, height: 1), sequence: 1)
        rig.arrive(FrameHeader(contentLength: 10, info: info).encoded() + body(1, count: 10))
        (rig.hasUntakenFrames, rig.isWritable) = (true, false)
        while rig.machine.send(.ping(1), rig) {}
        rig.machine.close(nil, rig)
        let watches = rig.machine.watchesRoom
        #expect(!rig.hasShutDownSending && watches)
        rig.isWritable = true
        rig.machine.becameReady(.writable, rig)
        #expect(rig.hasShutDownSending && rig.written.suffix(Self.notice.count) == Self.notice[...])
    }

    @Test func `what arrives after an end is left unread for a moment, and then discarded until the sender has gone`() {
        let rig = ReceiverRig { $0.limits.linger = .seconds(1) }
        rig.machine.close(nil, rig)
        rig.arrive(message(body(1, count: 3000)))
        #expect(!rig.input.isEmpty && rig.deadline == rig.now + 100_000_000)
        rig.now += 100_000_000
        rig.machine.deadlinePassed(rig)
        #expect(rig.input.isEmpty && rig.deadline == rig.now + 900_000_000 && rig.reason == nil)
        rig.arrive([], end: true)
        #expect(rig.reason == .closedLocally(.stoppedByUser))
    }

    @Test func `whatever was left to do before a close does not take back the time that it is given`() {
        let rig = ReceiverRig { $0.limits.linger = .seconds(1) }
        rig.arrive((0..<100).flatMap { _ in message([1]) })
        #expect(rig.yields == 1)
        rig.machine.close(nil, rig)
        let deadline = rig.now + 100_000_000
        #expect(rig.deadline == deadline)
        rig.now += 50_000_000
        rig.machine.resume(rig)
        rig.machine.roomAvailable(rig)
        rig.arrive(message([2]))
        #expect(rig.deadline == deadline && rig.reason == nil)
    }

    // MARK: Tokens

    @Test(
        arguments: [([], .handshakeTimedOut), ([1, 9], .tokenRejected), ([1, 2], nil)]
            as [([UInt8], TransportError.Code?)]
    )
    func `a connection gives way until it has shown the right token`(shown: [UInt8], end: TransportError.Code?) {
        let rig = ReceiverRig { $0.expectedToken = [1, 2] }
        rig.arrive(shown)
        rig.machine.giveWay(rig)
        #expect(rig.reason?.error?.code == end)
    }

    private static let refusal =
        ControlRequest.hello(ControlRequest.Hello()).encoded() + ControlRequest.stop(.tokenRejected).encoded()

    @Test(arguments: [(Array("a secrex and".utf8), []), (message(body(1, count: 10)), refusal)])
    func `a wrong token is answered by an end that the sender can read, and a sender without one is told why`(
        bytes: [UInt8],
        answer: [UInt8]
    ) {
        let rig = ReceiverRig { $0.expectedToken = Array("a secret".utf8) }
        rig.arrive(bytes)
        #expect(rig.written == answer && rig.hasShutDownSending && !rig.isPresented && rig.reason == nil)
        rig.arrive([], end: true)
        #expect(rig.reason?.error?.code == .tokenRejected)
    }

    // MARK: Ends

    /// What comes to pass on a connection.
    enum Step {
        case frame, ping, brokenPing, stopped, drain, close, undecodable, reset, end

        func happen(to rig: ReceiverRig) {
            switch self {
            case .frame: rig.arrive(message(body(1, count: 10)))
            case .ping: rig.machine.send(.ping(1), rig)
            case .brokenPing:
                rig.writeError = .reset
                rig.machine.send(.ping(1), rig)
            case .stopped: rig.arrive(SenderStatus(state: .stopped(.callEnded)).encoded())
            case .drain: rig.machine.drain(rig)
            case .close: rig.machine.close(.callEnded, rig)
            case .undecodable: rig.machine.undecodableLimitReached(rig)
            case .reset:
                rig.readError = .reset
                rig.arrive([])
            case .end: rig.arrive([], end: true)
            }
        }
    }

    private static let broken = CloseReason.failed(.lost(.reset))

    /// Shows P122.
    @Test(
        arguments: [
            // A reset between two messages is orderly if only this side's requests were lost.
            (true, [.frame, .ping, .reset], .closedByPeer(.stoppedByUser)), (true, [.frame, .reset], broken),
            // So is an end after a reset that a request has met, if nothing can be lost.
            (true, [.brokenPing, .end], .closedByPeer(.stoppedByUser)), (false, [.brokenPing, .end], broken),
            (false, [.ping, .reset], broken),
            // Nothing can be lost after the sender has said that it stopped.
            (false, [.ping, .stopped, .reset], .closedByPeer(.callEnded)),
            (false, [.brokenPing, .stopped, .reset], .closedByPeer(.callEnded)),
            (false, [.brokenPing, .stopped, .end], .closedByPeer(.callEnded)),
            // The first reason counts, and frames that cannot be decoded are one until this side has closed.
            (true, [.stopped, .drain, .end], .closedByPeer(.callEnded)),
            (true, [.close, .undecodable, .end], .closedLocally(.callEnded)),
            (true, [.drain, .undecodable], .failed(.undecodable(8))),
        ] as [(Bool, [Step], CloseReason)]
    )
    func `an end has one reason, and a reset is a failure only if something may be lost`(
        keepsData: Bool,
        steps: [Step],
        reason: CloseReason
    ) {
        let rig = ReceiverRig { $0.resetKeepsData = keepsData }
        for step in steps {
            #expect(rig.reason == nil)
            step.happen(to: rig)
        }
        #expect(rig.reason == reason)
    }

    // MARK: Requests

    /// A connection whose sender has read one request, and then reads nothing until no more are queued.
    private func unheard(after request: ControlRequest) -> ReceiverRig {
        let rig = ReceiverRig {
            $0.limits.firstFrameTimeout = .seconds(10)
            $0.limits.idleTimeout = .seconds(1)
        }
        for _ in 0..<1000 {
            rig.machine.send(request, rig)
            rig.isWritable = false
        }
        return rig
    }

    /// Shows P31.
    @Test func `a request that is dropped changes nothing`() {
        let paused = unheard(after: .pause)
        paused.machine.send(.resume, paused)
        #expect(paused.deadline == nil)

        let speaking = unheard(after: .resume)
        speaking.machine.send(.pause, speaking)
        #expect(speaking.deadline != nil)
        speaking.machine.send(.hello(ControlRequest.Hello(wants: .audio)), speaking)
        speaking.arrive(message([1]))
        #expect(speaking.frames.count == 1)
    }

    /// Shows P44.
    @Test(arguments: [false, true])
    func `a sender that is behind with many requests is still asked to stop`(isDiscarded: Bool) {
        let rig = unheard(after: .refresh)
        if isDiscarded {
            let info = FrameInfo(bufferSize: BufferSize(width: 1, height: 1), sequence: 1)
            rig.arrive(FrameHeader(contentLength: 10, info: info).encoded() + body(1, count: 10))
            rig.hasUntakenFrames = true
        }
        rig.machine.close(.callEnded, rig)
        #expect(!rig.hasShutDownSending)
        rig.isWritable = true
        rig.machine.becameReady(.writable, rig)
        let stop = ControlRequest.stop(.callEnded).encoded()
        #expect(rig.hasShutDownSending && rig.written.suffix(stop.count).elementsEqual(stop))
    }

    // MARK: Deadlines

    /// Where a sender stops, what it takes too long over, and the seconds that it has for that.
    ///
    /// Shows P152.
    @Test(
        arguments: [
            ([], "its first message", 1), (Array("HTTP/1.1 200 OK\r\n".utf8), "header", 2),
            (message([1]) + [UInt8(ascii: "H")], "header", 2), (message(body(1, count: 2000)).dropLast(2), "body", 5),
            (Array("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\nMessage-Type: later\r\n\r\nx".utf8), "body", 5),
            (message([1]), "its next message", 4),
        ] as [([UInt8], String, UInt64)]
    )
    func `each phase of a sender has its own time, which a byte now and then does not extend`(
        bytes: [UInt8],
        phase: String,
        seconds: UInt64
    ) {
        let rig = ReceiverRig {
            ($0.limits.firstFrameTimeout, $0.limits.headerTimeout) = (.seconds(1), .seconds(2))
            ($0.limits.bodyTimeout, $0.limits.minimumBodyBytesPerSecond) = (.seconds(3), 1000)
            $0.limits.idleTimeout = .seconds(4)
        }
        rig.arrive(bytes)
        let deadline = rig.now + seconds * 1_000_000_000
        #expect(rig.deadline == deadline)
        rig.now = deadline
        if phase == "header" || phase == "body" { rig.arrive([UInt8(ascii: "T")]) }
        #expect(rig.deadline == deadline && rig.reason == nil)
        rig.machine.deadlinePassed(rig)
        #expect(rig.reason?.error?.code == .receiveTimedOut && rig.reason?.error?.message.contains(phase) == true)
    }

    /// Shows P153.
    @Test(arguments: [false, true])
    func `a sender that was asked to be silent may stay silent, and then has its whole time`(hasSpoken: Bool) {
        let rig = ReceiverRig { ($0.limits.firstFrameTimeout, $0.limits.idleTimeout) = (.seconds(1), .seconds(1)) }
        if hasSpoken { rig.arrive(message([1])) }
        #expect(rig.deadline == rig.now + 1_000_000_000)
        rig.machine.send(.pause, rig)
        #expect(rig.deadline == nil)
        rig.now += 60_000_000_000
        rig.machine.send(.resume, rig)
        #expect(rig.deadline == rig.now + 1_000_000_000)
    }

    /// Shows P153.
    @Test func `a deadline that passes before everything is read counts from what is read`() {
        let rig = ReceiverRig { $0.limits.idleTimeout = .seconds(1) }
        rig.arrive(message([1]))
        rig.now += 2_000_000_000
        // The turn is over before all of it is read.
        rig.readLimit = 1
        rig.arrive(message([2]))
        rig.machine.deadlinePassed(rig)
        #expect(rig.yields == 1 && rig.reason == nil)
        rig.resumeToTheEnd()
        #expect(rig.reason == nil && rig.frames.count == 2 && rig.deadline == rig.now + 1_000_000_000)
        rig.now += 1_000_000_000
        rig.machine.deadlinePassed(rig)
        #expect(rig.reason?.error?.code == .receiveTimedOut)
    }

    @Test func `a byte that is read after a deadline does not extend it`() {
        let rig = ReceiverRig { $0.limits.headerTimeout = .seconds(1) }
        rig.arrive([UInt8(ascii: "H")])
        rig.now += 2_000_000_000
        // The turn is over before all of it is read.
        rig.readLimit = 1
        rig.arrive(Array(message([1]).dropFirst().prefix(80)))
        rig.machine.deadlinePassed(rig)
        #expect(rig.yields == 1 && rig.reason == nil)
        rig.resumeToTheEnd()
        #expect(rig.reason?.error?.code == .receiveTimedOut)
    }

    @Test func `a sender that has nothing to send has no deadline by default`() {
        #expect(FrameServer.Limits().firstFrameTimeout == nil && FrameServer.Limits().idleTimeout == nil)
    }

    @Test func `a long body gets time for its length`() throws {
        var limits = FrameServer.Limits()
        limits.bodyTimeout = .seconds(1)
        limits.minimumBodyBytesPerSecond = 1000
        #expect(limits.bodyDuration(length: 0) == .seconds(1))
        #expect(limits.bodyDuration(length: 2500) == .seconds(3.5))
        limits.minimumBodyBytesPerSecond = 0
        #expect(limits.bodyDuration(length: 10) == .seconds(11))
    }
}
