import FrameSocket
import FrameSocketApple
import TestSupport
import Testing

@testable import FrameSocketJitsi

/// Images through Jitsi's uploader, which is created before its connection is open.
@Suite(.timeLimit(.minutes(5))) struct SampleUploaderTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private static func send(_ image: PixelBuffer, at timestamp: UInt64, with uploader: JitsiUploader) -> Bool {
        uploader.uploader?.send(copying: image, orientation: .right, timestamp: timestamp) == .taken
    }

    @Test func `images arrive at half their size, once the connection is open`() async throws {
        let connection = try #require(JitsiConnection(filePath: directory.socket))
        let uploader = JitsiUploader(connection: connection)
        let image = try testImage(64, 48)
        #expect(!Self.send(image, at: 1, with: uploader))
        // A second app, and a second connection: the uploader is the same.
        for timestamp in [UInt64(2), 3] {
            let server = try directory.server()
            #expect(await becomesTrue { connection.open() })
            #expect(Self.send(image, at: timestamp, with: uploader))
            let host = try #require(try await firstConnection(of: server))
            var frames = host.frames.makeAsyncIterator()
            let frame = try #require(try await frames.next())
            #expect(frame.bufferSize == BufferSize(width: 32, height: 24))
            #expect(frame.orientation == .right && frame.timestamp == timestamp)
            host.close()
            #expect(await becomesTrue { connection.connection == nil })
        }
        #expect(!Self.send(image, at: 4, with: uploader))
    }

    @Test func `every image that is submitted is due: the handler leaves some out itself`() async throws {
        let server = try directory.server()
        let connection = try #require(JitsiConnection(filePath: directory.socket))
        let uploader = JitsiUploader(connection: connection)
        #expect(connection.open())
        let host = try #require(try await firstConnection(of: server))
        for timestamp in UInt64(0)..<6 {
            #expect(Self.send(try testImage(16, 16), at: timestamp, with: uploader))
        }
        withExtendedLifetime(host) {}
    }

    @Test(arguments: DarwinNotification.allCases)
    func `notifications have the names that Jitsi's apps observe`(name: DarwinNotification) {
        #expect(name.notification.rawValue == name.rawValue)
        #expect(name.rawValue.hasPrefix("iOS_Broadcast"))
    }
}
