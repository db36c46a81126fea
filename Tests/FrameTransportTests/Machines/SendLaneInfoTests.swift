import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// When a sender writes what it states about itself.
@Suite(.tags(.computes)) struct SendLaneInfoTests {
    /// A lane with a socket whose room is known, and the messages that it has written.
    private struct Lane: ~Copyable {
        var machine = SendLaneMachine(padsShortBodies: false, info: info("first"))
        var output: [UInt8] = []

        init(isAsked: Bool = true) {
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

    /// Shows P339.
    @Test func `a receiver that asks is told whether there is audio, whatever the program states`() {
        var lane = Lane()
        _ = lane.messages()
        var stated = info("first")
        stated.offersAudio = true
        lane.machine.state(stated)
        lane.write()
        let before = lane.output.count
        lane.machine.setOffersAudio(false)
        lane.machine.setOffersAudio(false)
        lane.write()
        let text = String(decoding: lane.output, as: UTF8.self)
        #expect(text.matches(of: /Offers-Audio: (\d)/).map(\.1) == ["1", "0"])
        #expect(lane.output.count > before)
        lane.machine.setOffersAudio(true)
        let messages = lane.messages()
        #expect(messages.count == 3)
    }

    /// Shows P325, P329.
    @Test func `a receiver that asks gets the info behind the answer, and the size before the frame`() {
        var lane = Lane()
        try? lane.machine.submit(audio)
        lane.submit(8)
        var messages = lane.messages()
        #expect(messages == ["live", "audio", "first 8", "8"])
        lane.submit(8)
        messages = lane.messages()
        #expect(messages == ["8"])
        lane.submit(9)
        messages = lane.messages()
        #expect(messages == ["first 9", "9"])
    }

    /// Shows P325.
    @Test func `a receiver that does not ask gets none`() {
        var lane = Lane(isAsked: false)
        lane.submit(8)
        lane.machine.state(info("second"))
        lane.machine.state(frameRate: 5)
        var messages = lane.messages()
        #expect(messages == ["8"])
        lane.ask(info: false)
        messages = lane.messages()
        #expect(messages == ["live"])
        // The size of what it has already is known when it asks.
        lane.ask()
        messages = lane.messages()
        #expect(messages == ["live", "second 8 5"])
        lane.ask(info: false)
        lane.machine.state(info("third"))
        messages = lane.messages()
        #expect(messages == ["live"])
    }

    /// Shows P326, P328.
    @Test func `of several infos the last one is written, each whole`() {
        var lane = Lane()
        var messages = lane.messages()
        #expect(messages == ["live", "first"])
        lane.machine.state(info("second"))
        lane.write(20)
        lane.machine.state(info("third"))
        lane.machine.state(info("fourth"))
        lane.machine.state(info("fourth"))
        messages = lane.messages()
        #expect(messages == ["second", "fourth"])
        lane.machine.state(info("fourth"))
        messages = lane.messages()
        #expect(messages.isEmpty)
        lane.machine.state(frameRate: 7)
        lane.machine.state(frameRate: nil)
        messages = lane.messages()
        #expect(messages == ["fourth"])
    }

    /// Shows P326.
    @Test func `a full socket and a pause delay an info, and an end and a new connection drop it`() {
        var lane = Lane()
        lane.write(0)
        #expect(lane.machine.queueCount == 2)
        _ = lane.machine.setPaused(true, answering: SenderStatus(state: .paused))
        var messages = lane.messages()
        #expect(messages == ["paused", "first"])
        lane.machine.state(info("second"))
        _ = lane.machine.end(last: SenderStatus(state: .stopped(.callEnded)), withdrawing: nil)
        messages = lane.messages()
        #expect(messages == ["second", "stopped"])
        #expect(lane.machine.progress == .ended)
        _ = lane.machine.close(TransportError(.closed, ""))
        lane.machine.open(connection: 2, fittingByteCount: .max)
        lane.machine.state(info("third"))
        lane.submit(8)
        messages = lane.messages()
        #expect(messages == ["8"])
        lane.ask()
        lane.machine.state(info("fourth"))
        _ = lane.machine.end(last: nil, withdrawing: TransportError(.connectionLost, ""))
        messages = lane.messages()
        #expect(messages.isEmpty && lane.machine.queueCount == 0)
    }

    @Test func `what the program states of its frames is kept, except for a size that is known`() {
        var own = info("own")
        (own.size, own.frameRateInMillihertz) = (BufferSize(width: 3, height: 3), 9)
        var lane = Lane()
        lane.machine.state(own)
        lane.machine.state(frameRate: 5)
        var messages = lane.messages()
        #expect(messages == ["live", "own 3 9"])
        lane.submit(8)
        messages = lane.messages()
        #expect(messages == ["own 8 9", "8"])
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

private let audio = AudioMessage(kind: .app, sampleRate: 44_100, channels: 1, samples: FrameBytes(body(1, count: 200)))

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
            let parts = [info["name"], info.size.map { "\($0.width)" }, info.frameRateInMillihertz.map { "\($0)" }]
            names.append(parts.compactMap(\.self).joined(separator: " "))
        default: break
        }
    }
    return names
}
