import FrameSocketTesting
import FrameTransport
import FrameWire
import Locking
import TestSupport
import Testing
import TurboJPEG

@testable import FrameSocket

/// Whose shared buffers a receiver has: of one uploader, and for one connection.
@Suite(.timeLimit(.minutes(5)), .enabled(if: SharedMemory.isSupported)) struct SharingOwnerTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func server() throws -> FrameServer {
        try directory.server { $0.acceptsSharedMemory = true }
    }

    private func uploader(_ connection: SocketConnection) -> SampleUploader {
        SampleUploader(connection: connection, configuration: .init(sharesMemory: true))
    }

    /// An image of one brightness.
    private func image(_ value: UInt8) throws -> PixelBuffer {
        try PixelBuffer(width: 8, height: 8, format: .gray) { _, _, _ in value }
    }

    private func brightness(_ frame: Frame?) throws -> UInt8? {
        guard let frame else { return nil }
        return try FrameDecoder().decode(frame, as: .gray).image.withPlane(0) { $0[0] }
    }

    /// The next frame of about this brightness; JPEG is not exact.
    private func frame(of value: UInt8, in frames: FrameConnection.Frames) async throws -> Frame? {
        try await soon {
            for try await frame in frames {
                let difference = Int(try brightness(frame) ?? 0) - Int(value)
                if abs(difference) <= 2 { return frame }
            }
            return nil
        } ?? nil
    }

    /// Shows P277.
    @Test func `while the receiver holds a buffer of one uploader, the frames of another are sent as JPEGs`()
        async throws
    {
        let server = try server()
        let connection = directory.connection()
        var first: SampleUploader? = uploader(connection)
        let received = try #require(try await firstConnection(of: server))
        var frames = received.frames.makeAsyncIterator()
        #expect(await becomesTrue { first?.isSharing == true })
        first?.send(try image(1))
        let kept = try #require(try await frames.next())
        #expect(kept.shared != nil)
        first = nil

        let second = uploader(connection)
        #expect(await becomesTrue { second.isSharing })
        second.send(try image(100))
        let frame = try await frames.next()
        #expect(frame?.shared == nil)
        // As exact as JPEG is.
        #expect((98...102).contains(try brightness(frame) ?? 0))
        // The receiver may have a frame before it is counted.
        try await second.finish()
        #expect(!second.isSharing && second.statistics.sent == 1)
        #expect(try brightness(kept) == 1)

        // The next receiver has no buffers yet.
        received.close()
        let next = try #require(try await firstConnection(of: server))
        #expect(await becomesTrue { second.isSharing })
        second.send(try image(50))
        var values: [UInt8?] = []
        for try await frame in next.frames {
            #expect(frame.shared != nil)
            values.append(try brightness(frame))
            if values.last == 50 { break }
        }
        // The latest image may have come before.
        #expect(values == [50] || values == [100, 50])
    }

    /// Shows P48.
    @Test func `two uploaders on one connection both learn of receivers, and one of released buffers`() async throws {
        let server = try server()
        let connection = directory.connection()
        let first = uploader(connection)
        let second = SampleUploader(connection: connection)
        var value: UInt8 = 0
        for round in 1...2 {
            let received = try #require(try await soon { try await firstConnection(of: server) } ?? nil)
            try #require(await becomesTrue { connection.terms.connection == round && first.isSharing })
            let frames = received.frames
            // More than there are buffers, each of which is released before the next frame.
            for _ in 0..<8 {
                value += 10
                first.send(try image(value))
                let frame = try #require(try await frame(of: value, in: frames))
                #expect(frame.shared != nil, "\(value) arrived as a JPEG")
            }
            second.send(try image(230 + UInt8(round) * 10))
            _ = try #require(try await frame(of: 230 + UInt8(round) * 10, in: frames))
            received.close()
        }
        #expect(await becomesTrue { second.statistics.sent == 2 })
    }
}
