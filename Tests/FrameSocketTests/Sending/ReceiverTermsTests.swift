import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// What a receiver prefers, wants and pauses lasts as long as its connection, and is kept for an uploader that comes later.
@Suite(.timeLimit(.minutes(5))) struct ReceiverTermsTests {
    private static let tiny = ControlRequest.Preferences(
        frameRateInMillihertz: 1,
        size: BufferSize(width: 16, height: 16),
        quality: 1
    )

    /// Shows P48.
    @Test(arguments: [nil, ControlRequest.helloForImages])
    func `a receiver's preferences end with it, whether the next one says hello or not`(hello: ControlRequest?)
        async throws
    {
        let receiver = try RawReceiver(.init(quality: 90))
        let demanding = try await receiver.accept()
        try await demanding.ask(.helloForImages, .prefer(Self.tiny))
        #expect(await becomesTrue { receiver.uploader.configuration.scale == .fit(width: 16, height: 16) })
        demanding.socket.close()

        let plain = try await receiver.accept()
        if let hello { try await plain.ask(hello) }
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        for round in 0..<3 {
            receiver.uploader.send(try testImage(200, 120), timestamp: UInt64(round) * 33_000_000)
            let frame = try await plain.frame()
            try #require(frame?.width == 200, "the preferences of the receiver before are in force")
        }
        #expect(receiver.uploader.configuration.quality == 90)
        #expect(receiver.uploader.configuration.pacing == .everyFrame)
    }

    /// Shows P46.
    @Test func `an empty prefer resets all preferences`() async throws {
        let receiver = try RawReceiver(.init(quality: 90))
        let visit = try await receiver.accept()
        try await visit.ask(.helloForImages, .prefer(Self.tiny))
        #expect(await becomesTrue { receiver.uploader.configuration.quality == 1 })
        try await visit.ask(.prefer(ControlRequest.Preferences()))
        #expect(await becomesTrue { receiver.uploader.configuration.quality == 90 })
        #expect(receiver.uploader.configuration.scale == .full)
    }

    // MARK: Before the uploader

    /// A connection whose receiver has stated its terms before there is an uploader.
    private func connection(
        after requests: [ControlRequest]
    ) async throws -> (TemporaryDirectory, PeerSocket, SocketConnection, RawReceiver.Visit) {
        let directory = try TemporaryDirectory()
        let listener = try PeerSocket.listening(at: directory.socket)
        let connection = directory.connection()
        try await connection.open(within: nil)
        let socket = try await listener.accepted()
        let visit = RawReceiver.Visit(socket: socket)
        try await socket.write((requests + [.ping(1)]).flatMap { $0.encoded() })
        _ = try await soon { try await socket.messages(until: { $0.pong == 1 }) }
        return (directory, listener, connection, visit)
    }

    /// Shows P48.
    @Test func `preferences received before the uploader exists apply from its first frame on`() async throws {
        let (directory, listener, connection, visit) = try await connection(
            after: [.helloForImages, .prefer(Self.tiny)]
        )
        let uploader = SampleUploader(connection: connection)
        uploader.send(try testImage(200, 120))
        #expect(try await visit.frame()?.width == 16)
        #expect(uploader.configuration.quality == 1)
        withExtendedLifetime((directory, listener)) {}
    }
}
