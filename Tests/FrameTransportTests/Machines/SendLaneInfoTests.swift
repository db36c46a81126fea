import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// When a sender writes what it states about itself.
@Suite(.tags(.computes)) struct SendLaneInfoTests {
    /// A lane with a socket whose room is known, and the messages that it has written.
    private struct Lane: ~Copyable {
        var machine: SendLaneMachine
        var output: [UInt8] = []

        init(_ stated: ControlRequest.SessionInfo = info("first"), isAsked: Bool = true) {
            machine = SendLaneMachine(padsShortBodies: false, info: stated)
            machine.open(connection: 1, fittingByteCount: .max)
            if isAsked { ask() }
        }

        mutating func ask(info: Bool = true) {
            _ = machine.setWants([.frames, .audio], info: info, answering: SenderStatus(state: .live))
        }

        mutating func submit(_ side: Int) { try? machine.submit(frame(side), ticket: side) }

        /// Lets the socket take so many bytes.
        mutating func write(_ limit: Int = .max) {
            var room = limit
            machine.hasRoom()
            while let write = machine.nextWrite() {
                guard room > 0 else { return machine.wouldBlock() }
                let bytes = write.bytes.prefix(room)
                output += bytes
                room -= bytes.count
                _ = machine.didWrite(bytes.count)
            }
        }

        /// The messages since the last call: `live`, `audio`, `8` for a frame of that size, `first 8` for an info.
        mutating func messages() -> [String] {
            write()
            defer { output = [] }
            return names(of: output)
        }
    }

    /// Shows P325, P329.
    @Test func `a receiver that asks gets the info behind the answer, once, with the size of the first frame`() {
        var lane = Lane()
        var messages = lane.messages()
        // The first frame says what the size is.
        #expect(messages == ["live"] && lane.machine.progress == .sent)
        try? lane.machine.submit(audio)
        messages = lane.messages()
        #expect(messages == ["audio"])
        lane.submit(8)
        messages = lane.messages()
        #expect(messages == ["first 8", "8"])
        lane.submit(9)
        lane.ask()
        messages = lane.messages()
        #expect(messages == ["live", "9"])
    }

    /// Shows P325.
    @Test func `a receiver that does not ask gets none`() {
        var lane = Lane(isAsked: false)
        lane.submit(8)
        var messages = lane.messages()
        #expect(messages == ["8"])
        lane.ask(info: false)
        messages = lane.messages()
        #expect(messages == ["live"])
        // The size of what it has already is known when it asks.
        lane.ask()
        messages = lane.messages()
        #expect(messages == ["live", "first 8"])
        // One that withdraws the question before the first frame is not told.
        lane = Lane()
        lane.ask(info: false)
        lane.submit(8)
        messages = lane.messages()
        #expect(messages == ["live", "8"])
    }

    /// Shows P329.
    @Test(arguments: [true, false]) func `a receiver that gets no frames is told at once`(isPaused: Bool) {
        var lane = Lane()
        if isPaused {
            _ = lane.machine.setPaused(true, answering: SenderStatus(state: .paused))
        } else {
            _ = lane.machine.setWants([.audio], info: true, answering: SenderStatus(state: .live))
        }
        let messages = lane.messages()
        #expect(messages == [isPaused ? "paused" : "live", "first"])
    }

    /// Shows P326.
    @Test func `a full socket delays an info, an end sends it or drops it, and the next receiver gets its own`() {
        var lane = Lane()
        lane.submit(8)
        lane.write(0)
        #expect(lane.machine.queueCount == 3)
        // Part of the info.
        lane.write(200)
        var messages = lane.messages()
        #expect(messages == ["live", "first 8", "8"])
        _ = lane.machine.close(TransportError(.closed, ""))
        lane.machine.open(connection: 2, fittingByteCount: .max)
        lane.ask()
        _ = lane.machine.end(last: SenderStatus(state: .stopped(.callEnded)), withdrawing: nil)
        messages = lane.messages()
        #expect(messages == ["live", "first", "stopped"] && lane.machine.progress == .ended)
        _ = lane.machine.close(TransportError(.closed, ""))
        lane.machine.open(connection: 3, fittingByteCount: .max)
        lane.ask()
        _ = lane.machine.end(last: nil, withdrawing: TransportError(.connectionLost, ""))
        messages = lane.messages()
        #expect(messages.isEmpty && lane.machine.queueCount == 0)
    }

    @Test func `what the program states of its frames is kept, except for a size that is known`() {
        var own = info("own")
        (own.size, own.frameRateInMillihertz, own.offersAudio) = (BufferSize(width: 3, height: 3), 9, true)
        var lane = Lane(own)
        lane.machine.frameRate = 5
        _ = lane.machine.setPaused(true, answering: SenderStatus(state: .paused))
        var messages = lane.messages()
        #expect(messages == ["paused", "own 3 9 audio"])
        lane = Lane(own)
        lane.submit(8)
        messages = lane.messages()
        #expect(messages == ["live", "own 8 9 audio", "8"])
    }

    /// Shows P339.
    @Test func `the rate and the offer of audio are those when it is stated`() {
        var stated = info("first")
        stated.offersAudio = true
        var lane = Lane(stated)
        _ = lane.messages()
        lane.machine.frameRate = 5
        lane.machine.setOffersAudio(false)
        lane.machine.frameRate = 7
        lane.submit(8)
        let messages = lane.messages()
        #expect(messages == ["first 8 7 silent", "8"])
        lane.machine.frameRate = 9
        lane.machine.setOffersAudio(true)
        let later = lane.messages()
        #expect(later.isEmpty)
    }
}

private func info(_ name: String) -> ControlRequest.SessionInfo {
    var info = ControlRequest.SessionInfo()
    try? info.set(name, for: "name")
    return info
}

private func frame(_ side: Int) -> FrameMessage {
    FrameMessage(
        jpeg: FrameBytes(body(1, count: 300)),
        info: FrameInfo(bufferSize: BufferSize(width: side, height: side))
    )
}

private let audio = AudioBlock(kind: .app, sampleRate: 44_100, channels: 1, samples: FrameBytes(body(1, count: 200)))

private func names(of bytes: [UInt8]) -> [String] {
    var names: [String] = []
    var decoder = FrameMessageDecoder()
    var offset = 0
    while offset < bytes.count, let step = try? decoder.decode(bytes.span.extracting(offset...)) {
        offset += step.consumed
        switch step.event {
        case .message(.frame(let header)): names.append("\(header.bufferSize.width)")
        case .message(.audio): names.append("audio")
        case .message(.status(let status)):
            switch status.state {
            case .live: names.append("live")
            case .paused: names.append("paused")
            case .stopped: names.append("stopped")
            }
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
