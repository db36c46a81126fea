import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import Synchronization
import TestSupport
import Testing

/// What a receiver asks of a sender, and what the sender answers.
@Suite struct ControlTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func frame(_ seed: Int, count: Int = 20_000) -> FrameMessage {
        FrameMessage(
            jpeg: FrameBytes(body(seed, count: count)),
            info: FrameInfo(bufferSize: BufferSize(width: 562, height: 1218))
        )
    }

    private func sound(_ seed: Int, count: Int = 2048, kind: AudioKind = .app) -> AudioBlock {
        AudioBlock(
            kind: kind,
            sampleRate: 44_100,
            channels: 1,
            timestamp: UInt64(seed),
            samples: FrameBytes(body(seed, count: count))
        )
    }

    /// Both ends, connected; the server, whose end would end the connection, is the caller's to keep.
    private func pair(
        hello: ControlRequest.Hello? = nil
    ) async throws -> (server: FrameServer, sender: SocketConnection, receiver: FrameConnection) {
        let server = try directory.server { $0.hello = hello }
        let sender = directory.connection()
        try await sender.open(within: Patience.length)
        let receiver = try #require(try await firstConnection(of: server))
        return (server, sender, receiver)
    }

    /// Shows P21, P22.
    @Test func `a receiver that said hello is told the sender's state`() async throws {
        let (server, sender, receiver) = try await pair(hello: ControlRequest.Hello(wants: [.frames, .audio]))
        defer { server.close() }
        var statuses = receiver.statuses.makeAsyncIterator()
        #expect(await statuses.next() == SenderStatus(state: .live))
        #expect(sender.receiver.hello == ControlRequest.Hello(wants: [.frames, .audio], wantsInfo: true))
        #expect(sender.receiver.wants == [.frames, .audio])
        receiver.send(.pause)
        #expect(await statuses.next()?.state == .paused)
        #expect(sender.receiver.isPaused)
        receiver.send(.ping(4711))
        #expect(await statuses.next() == SenderStatus(state: .paused, pong: 4711))
        receiver.send(.resume)
        #expect(await statuses.next()?.state == .live)
        #expect(!sender.receiver.isPaused)
    }

    /// Shows P36.
    @Test func `a receiver of a later version is answered in version 1, and obeyed`() async throws {
        let (server, sender, receiver) = try await pair(hello: ControlRequest.Hello(version: 9_999, wants: .frames))
        defer { server.close() }
        var statuses = receiver.statuses.makeAsyncIterator()
        #expect(await statuses.next() == SenderStatus(state: .live, version: 1))
        #expect(sender.receiver.hello?.version == 9_999)
        receiver.send(.pause)
        #expect(await statuses.next() == SenderStatus(state: .paused, version: 1))
        #expect(sender.receiver.isPaused)
    }

    /// Shows P36.
    @Test func `a sender of a later version is addressed in version 1, and understood`() async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello(wants: .frames) }
        defer { server.close() }
        let sender = try PeerSocket.connected(to: directory.socket)
        let receiver = try #require(try await firstConnection(of: server))
        let status = SenderStatus(state: .live, version: 9_999)
        try await sender.write(status.encoded())
        var statuses = receiver.statuses.makeAsyncIterator()
        #expect(await statuses.next() == status)
        receiver.send(.ping(1))
        let requests =
            ControlRequest.hello(ControlRequest.Hello(wants: .frames, wantsInfo: true)).encoded()
            + ControlRequest.ping(1).encoded()
        #expect(try await sender.read(requests.count) == requests)
    }

    /// Shows P147.
    @Test func `the selection is reported from beginning to end, over one connection after another`() async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello(wants: [.frames, .audio]) }
        let sender = directory.connection()
        var demand = sender.demand.makeAsyncIterator()
        #expect(await demand.next() == [])
        try await sender.open(within: Patience.length)
        let receiver = try #require(try await firstConnection(of: server))
        // Until the hello has come, it is a plain receiver.
        var wanted = await demand.next()
        if wanted == .frames { wanted = await demand.next() }
        #expect(wanted == [.frames, .audio])
        receiver.send(.pause)
        #expect(await demand.next() == [])
        receiver.send(.resume)
        #expect(await demand.next() == [.frames, .audio])
        server.close()
        #expect(await demand.next() == [])
        let plain = try PeerSocket.listening(at: directory.socket)
        let visitor = try await plain.accepted()
        #expect(await demand.next() == .frames)
        sender.close()
        visitor.close()
        #expect(await demand.next() == [])
        #expect(await demand.next() == nil)
    }

    /// Shows P147.
    @Test func `every sequence of what is wanted begins with the present`() async throws {
        let (server, sender, receiver) = try await pair(hello: ControlRequest.Hello(wants: [.frames, .audio]))
        defer { server.close() }
        for await wanted in sender.demand where wanted == [.frames, .audio] { break }
        for await wanted in sender.demand {
            #expect(wanted == [.frames, .audio])
            break
        }
        var (first, second) = (sender.demand.makeAsyncIterator(), sender.demand.makeAsyncIterator())
        #expect(await first.next() == [.frames, .audio])
        receiver.send(.pause)
        #expect(await first.next() == [])
        var last = await second.next()
        if last == [.frames, .audio] { last = await second.next() }
        #expect(last == [])
        sender.close()
        #expect(await first.next() == nil)
        for await wanted in sender.demand { #expect(wanted == []) }
    }

    /// Shows P48.
    @Test func `a hello ends with the connection of its receiver`() async throws {
        let (server, sender, receiver) = try await pair(hello: ControlRequest.Hello(wants: [.frames, .audio]))
        for await wanted in sender.demand where wanted == [.frames, .audio] { break }
        #expect(sender.receiver.hello?.wants == [.frames, .audio])
        withExtendedLifetime(receiver) {}
        server.close()
        for await wanted in sender.demand where wanted == [] { break }
        #expect(sender.receiver.hello == nil)
    }

    /// Shows P6, P51.
    @Test func `messages that are not selected are refused until they are`() async throws {
        let (server, sender, receiver) = try await pair(hello: ControlRequest.Hello(wants: [.frames, .audio]))
        defer { server.close() }
        var statuses = receiver.statuses.makeAsyncIterator()
        var frames = receiver.frames.makeAsyncIterator()
        #expect(await statuses.next()?.state == .live)
        let nothing = ControlRequest.hello(ControlRequest.Hello(wants: []))
        for (request, code) in [(.pause, .paused), (nothing, .notWanted)] as [(ControlRequest, TransportError.Code)] {
            receiver.send(request)
            _ = await statuses.next()
            let error = await #expect(throws: TransportError.self) { try await sender.send(frame(1)) }
            #expect(error?.code == code)
            #expect(try !sender.send(sound(1)))
            receiver.send(code == .paused ? .resume : .hello(ControlRequest.Hello(wants: [.frames, .audio])))
            _ = await statuses.next()
            try await sender.send(frame(2))
            #expect(try await frames.next()?.jpeg?.array() == body(2, count: 20_000))
        }
        #expect(sender.receiver.droppedAudio == 2)
    }

    /// Shows P40, P41.
    @Test func `a pause withdraws what has not started before it is answered`() async throws {
        let host = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: Patience.length)
        let receiver = try await host.accepted()
        try await receiver.write(ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio])).encoded())
        #expect(await becomesTrue { sender.receiver.wants.contains(.audio) })
        // The host does not read: sound is under way, and a frame waits behind it.
        for seed in 0..<20 { #expect(try sender.send(sound(seed, count: 200_000))) }
        let codes = Mutex<[TransportError.Code]>([])
        try sender.submit(frame(1)) { result in
            if case .failure(let error) = result { codes.withLock { $0.append(error.code) } }
        }
        try await receiver.write(ControlRequest.pause.encoded() + ControlRequest.ping(7).encoded())
        #expect(await becomesTrue { codes.withLock { $0 } == [.paused] })
        #expect(sender.receiver.droppedAudio > 0)
        sender.close()
        let text = String(decoding: try await receiver.read(.max), as: UTF8.self)
        let answer = try #require(text.range(of: "Pong-Number: 7"))
        #expect(!text[answer.upperBound...].contains("Audio-Kind") && !text.contains("Buffer-Width"))
    }

    /// Shows P53.
    @Test func `a program that learns that audio is selected may send it at once`() async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello(wants: [.frames, .audio]) }
        defer { server.close() }
        let sender = directory.connection()
        let taken = Mutex<[Bool]>([])
        let message = sound(1)
        sender.observeTerms(for: sender) { sender, terms in
            guard terms.wants.contains(.audio) else { return }
            let isTaken = try? sender.send(message)
            taken.withLock { $0.append(isTaken == true) }
        }
        try await sender.open(within: Patience.length)
        let receiver = try #require(try await firstConnection(of: server))
        var statuses = receiver.statuses.makeAsyncIterator()
        #expect(await statuses.next() == SenderStatus(state: .live))
        try #require(taken.withLock { $0 } == [true])
        var sounds = receiver.audio.makeAsyncIterator()
        #expect(await sounds.next()?.bytes.array() == message.bytes.array())
    }

    /// Shows P12, P13.
    @Test func `requests reach the sender's program in order`() async throws {
        let (server, sender, receiver) = try await pair()
        defer { server.close() }
        let sent: [ControlRequest] = [
            .prefer(
                ControlRequest.Preferences(
                    frameRateInMillihertz: 15_000,
                    size: BufferSize(width: 640, height: 360),
                    quality: 60
                )
            ),
            .refresh, .pause, .ping(1), .resume,
        ]
        for request in sent { receiver.send(request) }
        var requests = sender.requests.makeAsyncIterator()
        #expect(await requests.next() == .hello(ControlRequest.Hello(wantsInfo: true)))
        for request in sent { #expect(await requests.next() == request) }
    }

    /// Shows P4, P20.
    @Test func `a receiver that did not say hello is told nothing, and gets only frames`() async throws {
        let foreign = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: Patience.length)
        let host = try await foreign.accepted()
        try await host.write(ControlRequest.ping(1).encoded() + ControlRequest.pause.encoded())
        #expect(await becomesTrue { sender.receiver.skippedRequests == 2 })
        #expect(!sender.receiver.isPaused)
        #expect(try !sender.send(sound(1)))
        try await sender.send(frame(2))
        sender.close()
        let expected = message(body(2, count: 20_000))
        #expect(try await host.read(expected.count + 1) == expected)
    }

    /// Shows P32, P44, P126.
    @Test(arguments: ControlRequest.FinishReason.allCases)
    func `a stop is final, and its reason is known on both sides`(reason: ControlRequest.FinishReason) async throws {
        let (server, sender, receiver) = try await pair()
        defer { server.close() }
        receiver.close(reason)
        #expect(try await sender.closed() == .closedByPeer(reason))
        #expect(try await receiver.closed() == .closedLocally(reason))
        #expect(sender.closeReason?.error == nil)
    }

    /// Shows P26, P122.
    @Test(arguments: ControlRequest.FinishReason.allCases)
    func `a sender's reason reaches a receiver that said hello`(reason: ControlRequest.FinishReason) async throws {
        let (server, sender, receiver) = try await pair(hello: ControlRequest.Hello())
        defer { server.close() }
        var statuses = receiver.statuses.makeAsyncIterator()
        _ = await statuses.next()
        sender.close(reason)
        #expect(await statuses.next()?.state == .stopped(reason))
        #expect(try await receiver.closed() == .closedByPeer(reason))
        #expect(try await sender.closed() == .closedLocally(reason))
    }

    /// Shows P28.
    @Test func `an unknown request is counted and skipped by its length`() async throws {
        let foreign = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: Patience.length)
        let host = try await foreign.accepted()
        let unknown = Array("POST /dance HTTP/1.1\r\nContent-Length: 5\r\n\r\nPOST ".utf8)
        let hello = ControlRequest.hello(ControlRequest.Hello())
        try await host.write(hello.encoded() + unknown + ControlRequest.refresh.encoded(), chunk: 3)
        var requests = sender.requests.makeAsyncIterator()
        #expect(await requests.next() == hello)
        #expect(await requests.next() == .refresh)
        #expect(sender.receiver.skippedRequests == 1)
    }

    /// Shows P29.
    @Test func `anything but a request after a hello ends the connection at that byte, and the sender reconnects`()
        async throws
    {
        let foreign = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: Patience.length)
        let host = try await foreign.accepted()
        let hello = ControlRequest.hello(ControlRequest.Hello()).encoded()
        var milestones = sender.milestones()
        try await host.write(hello + [0x16, 0x03, 0x01])
        #expect(await milestones.next() == .connected)
        guard case .disconnected(.failed(let error)) = await milestones.next() else {
            Issue.record("the connection has not failed")
            return
        }
        #expect(error.code == .malformedMessage)
        #expect(error.wireError?.byteOffset == UInt64(hello.count))
        #expect(await milestones.next() == .connected)
    }

    /// Shows P5.
    @Test func `audio arrives as it was sent, at a receiver that asked only for audio`() async throws {
        let (server, sender, receiver) = try await pair(hello: ControlRequest.Hello(wants: [.frames, .audio]))
        defer { server.close() }
        var statuses = receiver.statuses.makeAsyncIterator()
        _ = await statuses.next()
        var audio = receiver.audio.makeAsyncIterator()
        for seed in 0..<50 {
            let kind: AudioKind = seed % 2 == 0 ? .app : .microphone
            #expect(try sender.send(sound(seed, kind: kind)))
            let received = try #require(await audio.next())
            #expect(received.bytes.array() == body(seed, count: 2048))
            #expect(received.kind == kind && received.timestamp == UInt64(seed))
            #expect(received.format.sampleRate == 44_100 && received.format.channels == 1)
        }
    }

    /// Shows P8.
    @Test func `audio waits for at most the frame being sent`() async throws {
        let foreign = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: Patience.length)
        let host = try await foreign.accepted()
        try await host.write(ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio])).encoded())
        let greeting = SenderStatus(state: .live).encoded()
        #expect(try await host.read(greeting.count) == greeting)
        // Larger than any socket's buffer: it is under way until the host reads.
        let large = message(body(1, count: 8 << 20))
        let sending = Task {
            try await sender.send(frame(1, count: 8 << 20))
            try await sender.send(frame(3))
        }
        let start = try await host.read(1)
        #expect(await becomesTrue { sender.receiver.wants.contains(.audio) })
        #expect(try sender.send(sound(2)))
        #expect(try await start + host.read(large.count - 1) == large)
        let header = AudioHeader(contentLength: 2048, kind: .app, sampleRate: 44_100, channels: 1, timestamp: 2)
        let expected = header.encoded() + body(2, count: 2048) + message(body(3, count: 20_000))
        #expect(try await host.read(expected.count) == expected)
        try await sending.value
    }

    /// Shows P9, P23.
    @Test func `of answers without room, the last one is sent once there is some`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: nil)
        let host = try await listener.accepted()
        // More answers than the socket holds: one waits for room, and gives way to each later one.
        let pings = (1...2000).flatMap { ControlRequest.ping($0).encoded() }
        try await host.write(ControlRequest.hello(ControlRequest.Hello()).encoded() + pings)
        #expect(await becomesTrue { !host.isQuiet })
        for _ in 0..<100 { await IOThread.shared.settle() }
        var answers = ""
        var numbers: [Int] = []
        while numbers.last != 2000, await becomesTrue({ !host.isQuiet }) {
            answers += String(decoding: try await host.readSome(upTo: 1 << 20), as: UTF8.self)
            numbers = answers.matches(of: /Pong-Number: (\d+)/).compactMap { Int($0.1) }
        }
        // Where the gaps are depends on how much the socket took at a time.
        #expect(numbers == Array(Set(numbers)).sorted() && numbers.count < 2000 && numbers.last == 2000)
        #expect(sender.isOpen)
    }

    /// Shows P104.
    @Test(arguments: [0, (256 << 10) + 2])
    func `audio that no receiver accepts is refused before it is sent`(count: Int) async throws {
        let (server, sender, _) = try await pair()
        defer { server.close() }
        let format = try AudioBlock.Format(sampleRate: 44_100, channels: 1)
        let message = try AudioBlock(format: format, samples: [Int16](repeating: 0, count: count / 2))
        let error = #expect(throws: TransportError.self) { try sender.send(message) }
        #expect(error?.code == .invalidAudio)
    }
}
