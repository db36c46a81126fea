import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

@testable import TurboJPEG

/// What happens to submitted frames: they are sent, or dropped for a cause that is counted.
@Suite(.timeLimit(.minutes(5))) struct SampleUploaderTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// An uploader to a server of this package, and the connection that the server has.
    private func pair(
        _ configuration: SampleUploader.Configuration = .init()
    ) async throws -> (SampleUploader, FrameServer, FrameConnection) {
        let server = try directory.server()
        let connection = directory.connection()
        try await connection.open(within: nil)
        let uploader = SampleUploader(connection: connection, configuration: configuration)
        return (uploader, server, try #require(try await firstConnection(of: server)))
    }

    /// An uploader to a plain socket, and that.
    private func rawPair(
        _ configuration: SampleUploader.Configuration = .init()
    ) async throws -> (SampleUploader, server: PeerSocket, peer: PeerSocket) {
        let (connection, server, peer) = try await directory.openConnection()
        return (SampleUploader(connection: connection, configuration: configuration), server, peer)
    }

    /// More than any socket's buffer holds, and in the limits of a server.
    private static let large = FrameBytes(body(1, count: 30_000_000))
    private static let size = BufferSize(width: 562, height: 1218)

    /// Submits a frame that is being sent as long as nobody reads.
    private func sendLarge(_ uploader: SampleUploader) async {
        let begun = uploader.statistics.queueAge.count
        #expect(uploader.send(jpeg: Self.large, bufferSize: Self.size) == .taken)
        #expect(await becomesTrue { uploader.statistics.queueAge.count > begun })
    }

    @Test func `an image arrives as described`() async throws {
        let (uploader, server, received) = try await pair(.init(quality: 95))
        let image = try testImage(200, 120, as: .bgra)
        #expect(uploader.send(image, orientation: .left, timestamp: 12_345) == .taken)
        var frames = received.frames.makeAsyncIterator()
        let frame = try #require(try await frames.next())
        #expect(frame.orientation == .left && frame.timestamp == 12_345 && frame.sequence == 0)
        #expect(frame.bufferSize == BufferSize(width: 200, height: 120))
        let jpeg = try JPEGEncoder(quality: 95).encode(image)
        let expected = try JPEGDecoder().decode(bytes: jpeg, as: .bgra)
        #expect(try FrameDecoder().decode(frame).image.hasSamePixels(as: expected))
        try await uploader.finish()
        let statistics = uploader.statistics
        #expect(statistics.offered == 1 && statistics.sent == 1 && statistics.dropped == 0)
        #expect(statistics.encoding.count == 1 && statistics.transfer.count == 1 && statistics.bytes > 0)
        _ = server
    }

    @Test func `the time is now unless specified, on the receiver's clock`() async throws {
        let (uploader, server, received) = try await pair()
        let before = MonotonicClock.now()
        uploader.send(try testImage(16, 16))
        var frames = received.frames.makeAsyncIterator()
        let frame = try #require(try await frames.next())
        let timestamp = try #require(frame.timestamp)
        #expect(before <= timestamp && timestamp <= frame.receivedAt)
        _ = server
    }

    @Test func `our own fields are left out if timing is off, and short bodies are padded`() async throws {
        let (uploader, server, peer) = try await rawPair(.init(sendsTiming: false))
        uploader.send(try testImage(120, 81), orientation: .right)
        let expected = """
            HTTP/1.1 200 OK\r\nContent-Length: 10240\r\nBuffer-Width: 120\r\nBuffer-Height: 81\r\n\
            Buffer-Orientation: 6\r\n\r\n
            """
        #expect(try await String(decoding: peer.read(expected.utf8.count), as: UTF8.self) == expected)
        let jpeg = try await peer.read(10_240)
        #expect(try JPEGHeader(inspecting: jpeg.span).width == 120)
        try await uploader.finish()
        #expect(peer.isQuiet)
        _ = server
    }

    /// Shows P74, P210.
    @Test func `the newest frame replaces the waiting one`() async throws {
        let (uploader, server, received) = try await pair()
        uploader.send(jpeg: FrameBytes(body(0, count: 100)), bufferSize: Self.size)
        try await uploader.finish()
        // The first waits for its consumer, the second is under way: nothing is read until the consumer comes.
        await sendLarge(uploader)
        for _ in 0..<10 { #expect(uploader.send(try testImage(64, 48)) == .taken) }
        #expect(uploader.statistics.drops == [.superseded: 9] && uploader.statistics.inProgress == 2)

        var statistics = ReceptionStatistics()
        var sequences: [UInt64?] = []
        var frames = received.frames.makeAsyncIterator()
        for _ in 0..<3 {
            let frame = try #require(try await frames.next())
            sequences.append(frame.sequence)
            statistics.add(frame)
        }
        #expect(sequences == [0, 1, 11])
        #expect(statistics.missing == 9 && statistics.frames == 3)
        try await uploader.finish()
        let sent = uploader.statistics
        #expect(sent.offered == 12 && sent.sent == 3 && sent.dropped == 9 && sent.inProgress == 0)
        _ = server
    }

    /// Shows P77.
    @Test func `a frame that cannot be encoded affects no other`() async throws {
        let (uploader, server, received) = try await pair(.init(scale: .half))
        let good = try testImage(10, 10)
        let whole = try JPEGEncoder(quality: 80).encode(testImage(64, 64))
        // The size can be read, and half of the image.
        let bad = FrameBytes(Array(whole[..<(whole.count / 2)]))
        var frames = received.frames.makeAsyncIterator()
        for round in 0..<5 {
            #expect(uploader.send(resizing: bad) == .taken)
            let error = await #expect(throws: TransportError.self) { try await uploader.finish() }
            #expect(error?.code == .notSent)
            #expect(uploader.statistics.drops == [.encodingFailed: round + 1])
            #expect(uploader.statistics.lastEncodingError?.code == .truncated)
            #expect(uploader.send(good) == .taken)
            #expect(try await frames.next()?.sequence == UInt64(2 * round + 1))
        }
        try await uploader.finish()
        #expect(uploader.statistics.sent == 5 && uploader.statistics.offered == 10)
        // The latest frame that could be encoded is still there.
        #expect(uploader.send(resizing: bad) == .taken)
        await #expect(throws: TransportError.self) { try await uploader.finish() }
        uploader.requestFrame()
        #expect(try await soon { try await received.frames.first { _ in true }?.sequence } == 9)
        _ = server
    }

    /// Shows P2.
    @Test func `a frame that is due while somebody else sends is dropped`() async throws {
        let (uploader, server, peer) = try await rawPair()
        let sending = Task {
            try await uploader.connection.send(FrameMessage(jpeg: Self.large, info: FrameInfo(bufferSize: Self.size)))
        }
        _ = try await peer.read(1)
        #expect(uploader.send(try testImage(10, 10)) == .taken)
        let error = await #expect(throws: TransportError.self) { try await uploader.finish() }
        #expect(error?.code == .busy && uploader.statistics.drops == [.superseded: 1])
        peer.close()
        _ = await sending.result
        _ = server
    }

    /// Shows P75.
    @Test func `every submitted frame is sent or counted as dropped, from many threads at once`() async throws {
        let (uploader, server, received) = try await pair()
        let image = try testImage(64, 48, as: .i420)
        let receiving = Task {
            var sequences: [UInt64] = []
            for try await frame in received.frames { sequences.append(frame.sequence ?? 0) }
            return sequences
        }
        let taken = Counter()
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        if uploader.send(image) == .taken { taken.increment() }
                        await Task.yield()
                    }
                }
            }
        }
        try await uploader.finish()
        let statistics = uploader.statistics
        #expect(statistics.offered == 400 && statistics.inProgress == 0 && taken.value == 400)
        #expect(statistics.offered == statistics.sent + statistics.dropped)
        #expect(statistics.drops.keys.allSatisfy { $0 == .superseded })
        uploader.connection.close()
        let sequences = try await receiving.value
        #expect(sequences.count == statistics.sent)
        #expect(sequences == sequences.sorted() && Set(sequences).count == sequences.count)
        _ = server
    }

    /// Shows P207.
    @Test func `nothing is accepted after the connection was closed, and finishing completes`() async throws {
        let (uploader, server, received) = try await pair()
        uploader.connection.close()
        _ = try await uploader.connection.closed()
        #expect(uploader.send(try testImage(8, 8)) == .dropped(.notConnected))
        try await uploader.finish()
        _ = (server, received)
    }

    /// Shows P192.
    @Test func `an image is kept while nothing is newer, and released before its JPEG is sent if something is`()
        async throws
    {
        let receiver = try RawReceiver(.init(quality: 100, subsampling: .yuv444))
        let visit = try await receiver.accept()
        // Nobody reads its JPEG of 13 MB for now, and a socket holds 8 MB where the system allows buffers of 4 MiB.
        var image = try MeanScalingTests.noise(.bgra, width: 2560, height: 1440)
        #expect(receiver.uploader.send(image) == .taken)
        #expect(await becomesTrue { receiver.uploader.statistics.encoding.count == 1 })
        let isKept = !image.isAlone
        #expect(isKept)
        receiver.uploader.send(try testImage(8, 8))
        let isReleased = await becomesTrue { image.isAlone }
        #expect(isReleased)
        #expect(receiver.uploader.statistics.sent == 0 && receiver.uploader.statistics.inProgress == 2)
        #expect(try await visit.frame()?.body.isEmpty == false)
    }

    /// Shows P108.
    @Test func `an image that is changed after it was submitted is sent as it was`() async throws {
        let (uploader, server, received) = try await pair(.init(quality: 100, subsampling: .yuv444))
        var image = try solidImage(32, 32, red: 10, green: 20, blue: 30)
        let before = image
        await sendLarge(uploader)
        uploader.send(image)
        try image.fill(255)
        var frames = received.frames.makeAsyncIterator()
        _ = try await frames.next()
        let frame = try #require(try await frames.next())
        #expect(try FrameDecoder().decode(frame, as: .rgb).image.peakSignalToNoiseRatio(against: before) > 45)
        _ = server
    }
}
