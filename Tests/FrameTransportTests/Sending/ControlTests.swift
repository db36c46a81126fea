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
        let (sender, receiver) = try await server.connectedPeer()
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
        #expect(sender.receiver.hello?.wants == [.frames, .audio])
        server.close()
        #expect(await demand.next() == [])
        #expect(sender.receiver.hello == nil)
        let plain = try PeerSocket.listening(at: directory.socket)
        let visitor = try await plain.accepted()
        #expect(await demand.next() == .frames)
        sender.close()
        visitor.close()
        #expect(await demand.next() == [])
        #expect(await demand.next() == nil)
    }

    /// Shows P147.
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

    /// Shows P32, P44, P126.
    @Test(arguments: ControlRequest.FinishReason.allCases)
    func `an end is final, and its reason is known on both sides, whoever ends`(reason: ControlRequest.FinishReason)
        async throws
    {
        for isSender in [false, true] {
            let (server, sender, receiver) = try await pair(hello: ControlRequest.Hello())
            defer { server.close() }
            // A receiver that says no hello is not told why.
            #expect(await becomesTrue { sender.receiver.hello != nil })
            if isSender { sender.close(reason) } else { receiver.close(reason) }
            #expect(try await sender.closed() == (isSender ? .closedLocally(reason) : .closedByPeer(reason)))
            #expect(try await receiver.closed() == (isSender ? .closedByPeer(reason) : .closedLocally(reason)))
            #expect(sender.closeReason?.error == nil)
        }
    }

    /// Shows P6, P339.
    @Test(arguments: [false, true])
    func `audio arrives as it was sent, as long as the sender offers it`(offersAudio: Bool) async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello(wants: [.frames, .audio]) }
        defer { server.close() }
        let sender = directory.connection { $0.offersAudio = offersAudio }
        try await sender.open(within: Patience.length)
        let receiver = try #require(try await firstConnection(of: server))
        var statuses = receiver.statuses.makeAsyncIterator()
        _ = await statuses.next()
        #expect(sender.offersAudio == offersAudio)
        var audio = receiver.audio.makeAsyncIterator()
        for seed in 0..<50 {
            let isOffered = seed.isMultiple(of: 5) != offersAudio
            sender.offersAudio = isOffered
            let kind: AudioKind = seed % 2 == 0 ? .app : .microphone
            #expect(try sender.send(sound(seed, kind: kind)) == isOffered)
            guard isOffered else { continue }
            let received = try #require(await audio.next())
            #expect(received.bytes.array() == body(seed, count: 2048))
            #expect(received.kind == kind && received.timestamp == UInt64(seed))
            #expect(received.format.sampleRate == 44_100 && received.format.channels == 1)
        }
        #expect(sender.receiver.droppedAudio == (offersAudio ? 10 : 40))
        // The receiver wants it all the time.
        #expect(sender.receiver.wants == [.frames, .audio])
    }

    /// Shows P51.
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
