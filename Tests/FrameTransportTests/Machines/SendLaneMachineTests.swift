import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// What a connection writes, in which order, and what is told to whom; without any socket.
@Suite(.tags(.computes)) struct SendLaneMachineTests {
    /// One thing that happens to a lane.
    enum Step: Sendable {
        case frame(Int)
        case audio(Int)
        case status(SenderStatus)
        case wants(ControlRequest.Wants)
        case pause(Bool)
        case offersAudio(Bool)
        case cancel(Int)
        case end(withdraws: Bool)
        case close
        case fail
        /// The socket takes so many bytes.
        case take(Int)
        /// The socket takes everything.
        case drain
    }

    /// A lane with a socket of which the room is known.
    struct Lane: ~Copyable {
        var machine = SendLaneMachine(padsShortBodies: false)
        var output: [UInt8] = []
        var settlements: [SendLaneMachine.Settlement] = []
        var refusals: [TransportError.Code] = []

        init() {
            machine.open(connection: 1, fittingByteCount: .max)
            ask(info: false)
            write(.max)
            output = []
        }

        /// A lane whose receiver has just asked for what this side states.
        init(stating info: ControlRequest.SessionInfo) {
            machine = SendLaneMachine(padsShortBodies: false, info: info)
            machine.open(connection: 1, fittingByteCount: .max)
            ask()
        }

        mutating func ask(info: Bool = true) {
            follow { $0.hello = ControlRequest.Hello(wants: [.frames, .audio], wantsInfo: info) }
        }

        /// The receiver says something that is answered.
        mutating func follow(_ change: (inout SendLaneMachine.Receiver) -> Void) {
            var receiver = machine.receiver
            change(&receiver)
            note(machine.follow(receiver, answering: SenderStatus(state: receiver.isPaused ? .paused : .live)))
        }

        mutating func note(_ settlement: SendLaneMachine.Settlement?) {
            if let settlement { settlements.append(settlement) }
        }

        mutating func write(_ limit: Int) {
            var room = limit
            machine.hasRoom()
            while let write = machine.nextWrite() {
                guard room > 0 else { return machine.wouldBlock() }
                let bytes = write.bytes.prefix(room)
                output += bytes
                room -= bytes.count
                note(machine.didWrite(bytes.count))
            }
        }

        mutating func take(_ step: Step) {
            do throws(TransportError) {
                switch step {
                case .frame(let number): try machine.submit(frame(number), ticket: number)
                case .audio(let number): try machine.submit(audio(number))
                case .status(let status): machine.send(status)
                case .wants(let wants): follow { $0.hello = ControlRequest.Hello(wants: wants) }
                case .pause(let isPaused): follow { $0.isPaused = isPaused }
                case .offersAudio(let isOn): machine.setOffersAudio(isOn)
                case .cancel(let number): note(machine.cancel(number))
                case .end(let withdraws): note(machine.end(last: stopped, withdrawing: withdraws ? lost : nil))
                case .close: note(machine.close(lost))
                case .fail: note(machine.writeFailed(.brokenPipe))
                case .take(let count): write(count)
                case .drain: write(.max)
                }
            } catch {
                refusals.append(error.code)
            }
        }

        /// Which messages were written: `f1` for a frame, `a1` for audio, `live` or `paused.7` for a status, `first 8` for an
        /// info.
        var messages: [String] { names(of: output) }

        /// Those since the last call, with what the socket still takes.
        mutating func nextMessages() -> [String] {
            write(.max)
            defer { output = [] }
            return messages
        }
    }

    /// Shows P7.
    @Test(
        arguments: [
            // An answer goes first, then audio, then the frame, whatever came first.
            ([.frame(1), .audio(1), .audio(2), .status(live)], ["live", "a1", "a2", "f1"]),
            // What is under way is completed before.
            ([.frame(1), .take(1), .audio(1), .status(live)], ["f1", "live", "a1"]),
            ([.audio(1), .take(1), .frame(1), .audio(2), .pause(true)], ["a1", "paused"]),
            // The last status is the last message, whatever waits.
            ([.frame(1), .audio(1), .end(withdraws: false)], ["a1", "f1", "stopped"]),
            ([.audio(1), .take(1), .frame(1), .audio(2), .end(withdraws: false)], ["a1", "a2", "f1", "stopped"]),
            ([.audio(1), .take(1), .frame(1), .audio(2), .end(withdraws: true)], ["a1", "stopped"]),
            ([.frame(1), .take(1), .status(live), .audio(2), .end(withdraws: true)], ["f1", "stopped"]),
            // And nothing is accepted behind it.
            (
                [.frame(1), .take(1), .end(withdraws: false), .audio(1), .frame(2), .status(live), .drain, .audio(2)],
                ["f1", "stopped"]
            ),
            // A pause holds back what has not begun, and what is submitted until the resume.
            (
                [.frame(1), .pause(true), .frame(2), .audio(1), .drain, .frame(3), .pause(false), .frame(4)],
                ["paused", "live", "f4"]
            ),
            ([.frame(1), .take(1), .pause(true), .audio(1), .drain, .audio(2)], ["f1", "paused"]),
            // Nor has one begun of which the socket took nothing.
            ([.frame(1), .take(0), .pause(true), .drain], ["paused"]),
            ([.audio(1), .take(0), .wants(.frames), .drain], ["live"]),
            ([.frame(1), .take(0), .cancel(1), .frame(2)], ["f2"]),
            ([.frame(1), .take(0), .audio(1), .take(0), .status(live), .drain], ["live", "a1", "f1"]),
            ([.status(live), .take(0), .status(pong(3)), .frame(1), .take(0), .end(withdraws: true)], ["stopped"]),
            // So does what is not wanted.
            ([.frame(1), .audio(1), .wants(.audio)], ["live", "a1"]),
            ([.frame(1), .audio(1), .wants(.frames)], ["live", "f1"]),
            ([.frame(1), .audio(1), .wants([])], ["live"]),
            (
                [.frame(1), .audio(1), .offersAudio(false), .drain, .audio(2), .offersAudio(true), .audio(3)],
                ["f1", "a3"]
            ),
            ([.audio(1), .take(1), .audio(2), .offersAudio(false), .drain], ["a1"]),
            ([.audio(1), .take(0), .offersAudio(false), .status(live), .drain], ["live"]),
            ([.offersAudio(false), .pause(true), .pause(false), .wants(.audio), .audio(1)], ["live"]),
            // A frame that is cancelled before it begins is not sent, one under way is.
            ([.frame(1), .cancel(1), .frame(2)], ["f2"]),
            ([.frame(1), .take(1), .cancel(1), .drain, .frame(2)], ["f1", "f2"]),
        ] as [([Step], [String])]
    )
    func `messages are sent in order, and the final one is the last`(steps: [Step], expected: [String]) {
        var lane = Lane()
        for step in steps { lane.take(step) }
        lane.take(.drain)
        let messages = lane.messages
        #expect(messages == expected)
    }

    /// Shows P13, P21.
    @Test(arguments: [
        ([live, live, live], ["live"]),
        ([pong(1), pong(2), pong(3)], ["live.3"]),
        ([pong(7), live], ["live.7"]),
        ([pong(7), SenderStatus(state: .paused)], ["paused.7"]),
        ([SenderStatus(state: .paused), live, pong(1)], ["live.1"]),
    ])
    func `an answer that has not started gives way to a later one, which keeps the number of the latest ping`(
        statuses: [SenderStatus],
        expected: [String]
    ) {
        var lane = Lane()
        lane.take(.frame(1))
        lane.take(.take(1))
        for status in statuses { lane.take(.status(status)) }
        let count = lane.machine.queueCount
        #expect(count == 1)
        lane.take(.drain)
        let messages = lane.messages
        #expect(messages == ["f1"] + expected)
    }

    /// Shows P109.
    @Test(
        arguments: [
            ([.frame(1), .drain], [nil]),
            ([.frame(1), .take(1), .drain, .close], [nil]),
            ([.frame(1), .cancel(1), .drain, .close], [.cancelled]),
            ([.frame(1), .take(1), .cancel(1), .cancel(1), .drain, .close], [.cancelled]),
            ([.frame(1), .drain, .cancel(1)], [nil]),
            ([.frame(1), .cancel(2), .drain], [nil]),
            ([.frame(1), .pause(true), .drain], [.paused]),
            ([.frame(1), .take(1), .pause(true), .drain], [nil]),
            ([.frame(1), .wants(.audio)], [.notWanted]),
            ([.frame(1), .take(1), .fail, .close], [.connectionLost]),
            ([.frame(1), .fail, .close], [.connectionLost]),
            ([.frame(1), .take(1), .cancel(1), .fail, .close], [.cancelled]),
            ([.frame(1), .take(0), .fail], [.connectionLost]),
            ([.frame(1), .close], [.connectionLost]),
            ([.frame(1), .take(1), .close, .drain], [.connectionLost]),
            ([.audio(1), .take(1), .frame(1), .end(withdraws: true), .drain], [.connectionLost]),
            ([.audio(1), .take(1), .frame(1), .end(withdraws: false), .drain], [nil]),
        ] as [([Step], [TransportError.Code?])]
    )
    func `a frame's sender learns the outcome exactly once`(steps: [Step], expected: [TransportError.Code?]) {
        var lane = Lane()
        for step in steps { lane.take(step) }
        let codes = lane.settlements.map { $0.error?.code }
        #expect(codes == expected)
        #expect(lane.settlements.allSatisfy { $0.ticket == 1 })
        let hasFrame = lane.machine.hasFrame
        #expect(!hasFrame)
    }

    /// Shows P51.
    @Test(
        arguments: [
            ([.frame(1), .frame(2)], .busy),
            ([.frame(1), .take(1), .frame(2)], .busy),
            // The rest of it is still to be written.
            ([.frame(1), .take(1), .cancel(1), .frame(2)], .busy),
            ([.pause(true), .frame(1)], .paused),
            ([.pause(true), .audio(1)], .paused),
            ([.wants([]), .frame(1)], .notWanted),
            ([.wants(.frames), .audio(1)], .notWanted),
            ([.close, .frame(1)], .closed),
            ([.offersAudio(false), .audio(1)], .notWanted),
            ([.close, .audio(1)], .closed),
            ([.frame(1), .take(1), .fail, .audio(1)], .closed),
            ([.end(withdraws: false), .frame(1)], .closed),
        ] as [([Step], TransportError.Code)]
    )
    func `what cannot be sent now is refused with the reason`(steps: [Step], code: TransportError.Code) {
        var lane = Lane()
        for step in steps { lane.take(step) }
        let refusals = lane.refusals
        #expect(refusals == [code])
    }

    /// Shows P100.
    @Test func `waiting audio is bounded, and the oldest gives way`() {
        var lane = Lane()
        lane.take(.audio(0))
        lane.take(.take(1))
        for number in 1...100 { lane.take(.audio(number)) }
        let (count, dropped) = (lane.machine.queueCount, lane.machine.droppedAudio)
        #expect(count == SendLaneMachine.audioCapacity && dropped == 100 - SendLaneMachine.audioCapacity)
        lane.take(.drain)
        let messages = lane.messages
        #expect(messages == ["a0"] + (37...100).map { "a\($0)" })
    }

    private func sharedFrame(owner: UInt64 = 1) throws -> FrameMessage {
        let header = SharedFrameHeader(
            buffer: 0,
            format: .gray,
            info: FrameInfo(bufferSize: BufferSize(width: 8, height: 8)),
            planes: [.init(offset: 0, bytesPerRow: 64)]
        )
        return FrameMessage(header, in: try SharedMemory(byteCount: 512), isNew: true, owner: owner)
    }

    /// Shows P303.
    @Test(.enabled(if: SharedMemory.isSupported))
    func `frames of an earlier connection, and in another uploader's buffers, are refused`() throws {
        var lane = Lane()
        func refusal(of message: FrameMessage, for connection: Int) -> TransportError.Code? {
            do {
                try lane.machine.submit(message, for: connection, ticket: 1)
                lane.write(.max)
                return nil
            } catch {
                return error.code
            }
        }
        let (own, foreign) = (try sharedFrame(owner: 1), try sharedFrame(owner: 2))
        #expect(refusal(of: own, for: 1) == nil)
        #expect(refusal(of: foreign, for: 1) == .sharedMemory)
        #expect(refusal(of: own, for: 1) == nil)
        _ = lane.machine.close(TransportError(.connectionLost, "lost"))
        lane.machine.open(connection: 2, fittingByteCount: .max)
        #expect(refusal(of: own, for: 1) == .closed)
        #expect(refusal(of: foreign, for: 2) == nil)
        #expect(refusal(of: own, for: 2) == .sharedMemory)
    }

    /// Shows P265.
    @Test(.enabled(if: SharedMemory.isSupported))
    func `after a decline no frame in shared memory begins`() throws {
        var lane = Lane()
        let frame = try sharedFrame()
        try lane.machine.submit(frame, ticket: 1)
        var receiver = lane.machine.receiver
        receiver.declinesSharedMemory = true
        lane.note(lane.machine.follow(receiver, answering: nil))
        #expect(lane.settlements.map(\.ticket) == [1] && lane.settlements.first?.error?.code == .notWanted)
        do {
            try lane.machine.submit(frame, ticket: 2)
            Issue.record("a frame in shared memory is accepted")
        } catch {
            #expect(error.code == .notWanted)
        }
        lane.write(.max)
        #expect(lane.output.isEmpty)
        _ = lane.machine.close(TransportError(.connectionLost, "lost"))
        lane.machine.open(connection: 2, fittingByteCount: .max)
        try lane.machine.submit(frame, ticket: 3)
        lane.write(.max)
        #expect(!lane.output.isEmpty, "the next receiver has declined nothing")
    }

    @Test func `a buffer grows for a message that does not fit, and for no other`() throws {
        var machine = SendLaneMachine(padsShortBodies: false)
        machine.open(connection: 1, fittingByteCount: 1000)
        var sizes: [Int?] = []
        for count in [100, 2000, 2000, 100, 3000] {
            try machine.submit(FrameMessage(body(1, count: count)), ticket: 1)
            guard let write = machine.nextWrite() else { break }
            sizes.append(write.sendBuffer.map { $0 - 2 * (write.byteCount - count) })
            _ = machine.didWrite(write.byteCount)
        }
        #expect(sizes == [nil, 4000, nil, nil, 6000])
    }
}

/// When a sender writes what it states about itself.
extension SendLaneMachineTests {
    @Test func `what the program states of its frames is kept, except for a size that is known`() {
        var own = info("own")
        (own.size, own.frameRateInMillihertz, own.offersAudio) = (BufferSize(width: 3, height: 3), 9, true)
        var lane = Lane(stating: own)
        lane.machine.frameRate = 5
        lane.take(.pause(true))
        var messages = lane.nextMessages()
        #expect(messages == ["paused", "own 3 9 audio"])
        lane = Lane(stating: own)
        lane.take(.frame(8))
        messages = lane.nextMessages()
        #expect(messages == ["live", "own 8 9 audio", "f8"])
    }

    /// Shows P339.
    @Test func `the rate and the offer of audio are those when it is stated`() {
        var stated = info("first")
        stated.offersAudio = true
        var lane = Lane(stating: stated)
        _ = lane.nextMessages()
        lane.machine.frameRate = 5
        lane.machine.setOffersAudio(false)
        lane.machine.frameRate = 7
        lane.take(.frame(8))
        let messages = lane.nextMessages()
        #expect(messages == ["first 8 7 silent", "f8"])
        lane.machine.frameRate = 9
        lane.machine.setOffersAudio(true)
        let later = lane.nextMessages()
        #expect(later.isEmpty)
    }
}

private let live = SenderStatus(state: .live)
private let stopped = SenderStatus(state: .stopped(.stoppedByUser))
private let lost = TransportError(.connectionLost, "the connection broke")

private func pong(_ number: UInt64) -> SenderStatus { SenderStatus(state: .live, pong: number) }

private func frame(_ number: Int) -> FrameMessage {
    let info = FrameInfo(bufferSize: BufferSize(width: number, height: number), sequence: UInt64(number))
    return FrameMessage(jpeg: FrameBytes(body(number, count: 300)), info: info)
}

private func info(_ name: String) -> ControlRequest.SessionInfo {
    var info = ControlRequest.SessionInfo()
    try? info.set(name, for: "name")
    return info
}

private func audio(_ number: Int) -> AudioBlock {
    AudioBlock(
        kind: .app,
        sampleRate: 44_100,
        channels: 1,
        sequence: UInt64(number),
        samples: FrameBytes(body(number, count: 200))
    )
}

/// The messages that were written, complete ones and the last one if it was cut.
private func names(of bytes: [UInt8]) -> [String] {
    var names: [String] = []
    var decoder = FrameMessageDecoder()
    var offset = 0
    while offset < bytes.count, let step = try? decoder.decode(bytes.span.extracting(offset...)) {
        offset += step.consumed
        switch step.event {
        case .message(.frame(let header)): names.append("f\(header.sequence ?? 0)")
        case .message(.audio(let header)): names.append("a\(header.sequence ?? 0)")
        case .message(.status(let status)): names.append(status.name)
        case .message(.info(let info)):
            let parts = [
                info["name"], info.size.map { "\($0.width)" }, info.frameRateInMillihertz.map { "\($0)" },
                info.offersAudio.map { $0 ? "audio" : "silent" },
            ]
            names.append(parts.compactMap(\.self).joined(separator: " "))
        default: break
        }
    }
    return names
}

extension SenderStatus {
    fileprivate var name: String {
        let name =
            switch state {
            case .live: "live"
            case .paused: "paused"
            case .stopped: "stopped"
            }
        return name + (pong.map { ".\($0)" } ?? "")
    }
}
