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

    /// An uploader to a server of this package.
    private func pair(_ configuration: SampleUploader.Configuration = .init()) async throws -> SharedPair {
        try await SharedPair(directory, configuration, accepts: false)
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
        var pair = try await pair(.init(quality: 95))
        let uploader = pair.uploader
        let image = try testImage(200, 120, as: .bgra)
        #expect(uploader.send(image, orientation: .left, timestamp: 12_345) == .taken)
        let frame = try await pair.next()
        #expect(frame.orientation == .left && frame.timestamp == 12_345 && frame.sequence == 0)
        #expect(frame.bufferSize == BufferSize(width: 200, height: 120))
        let jpeg = try JPEGEncoder(quality: 95).encode(image)
        let expected = try JPEGDecoder().decode(bytes: jpeg, as: .bgra)
        #expect(try FrameDecoder().decode(frame).image.hasSamePixels(as: expected))
        try await uploader.finish()
        let statistics = uploader.statistics
        #expect(statistics.offered == 1 && statistics.sent == 1 && statistics.dropped == 0)
        #expect(statistics.encoding.count == 1 && statistics.transfer.count == 1 && statistics.bytes > 0)
        // The time is now unless specified, on the receiver's clock.
        let before = MonotonicClock.now()
        uploader.send(image)
        let next = try await pair.next()
        #expect(before...next.receivedAt ~= next.timestamp ?? 0)
    }

    @Test func `our own fields are left out if timing is off, and short bodies are padded`() async throws {
        let receiver = try RawReceiver(.init(sendsTiming: false))
        let (uploader, peer) = (receiver.uploader, try await receiver.accept().socket)
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
    }

    @Test func `bytes that are not a JPEG are dropped`() throws {
        let uploader = SampleUploader(connection: directory.connection())
        #expect(uploader.send(resizing: FrameBytes([1, 2, 3])) == .dropped(.encodingFailed))
        #expect(uploader.statistics.lastEncodingError?.code == .notJPEG && uploader.statistics.dropped == 1)
    }

    /// Shows P74, P210.
    @Test func `the newest frame replaces the waiting one`() async throws {
        var pair = try await pair()
        let uploader = pair.uploader
        uploader.send(jpeg: FrameBytes(body(0, count: 100)), bufferSize: Self.size)
        try await uploader.finish()
        // The first waits for its consumer, the second is under way: nothing is read until the consumer comes.
        await sendLarge(uploader)
        for _ in 0..<10 { #expect(uploader.send(try testImage(64, 48)) == .taken) }
        #expect(uploader.statistics.drops == [.superseded: 9] && uploader.statistics.inProgress == 2)

        var statistics = ReceptionStatistics()
        var sequences: [UInt64?] = []
        for _ in 0..<3 {
            let frame = try await pair.next()
            sequences.append(frame.sequence)
            statistics.add(frame)
        }
        #expect(sequences == [0, 1, 11])
        #expect(statistics.missing == 9 && statistics.frames == 3)
        try await uploader.finish()
        let sent = uploader.statistics
        #expect(sent.offered == 12 && sent.sent == 3 && sent.dropped == 9 && sent.inProgress == 0)
    }

    /// Shows P2.
    @Test func `a frame that is due while somebody else sends is dropped`() async throws {
        let receiver = try RawReceiver { $0.reopens = false }
        let (uploader, peer) = (receiver.uploader, try await receiver.accept().socket)
        #expect(await becomesTrue { uploader.hasReceiver })
        let sending = Task {
            try await uploader.connection.send(FrameMessage(jpeg: Self.large, info: FrameInfo(bufferSize: Self.size)))
        }
        _ = try await peer.read(1)
        #expect(uploader.send(try testImage(10, 10)) == .taken)
        let error = await #expect(throws: TransportError.self) { try await uploader.finish() }
        #expect(error?.code == .busy && uploader.statistics.drops == [.superseded: 1])
        peer.close()
        _ = await sending.result
    }

    /// Shows P75.
    @Test func `every submitted frame is sent or counted as dropped, from many threads at once`() async throws {
        let pair = try await pair()
        let uploader = pair.uploader
        let image = try testImage(64, 48, as: .i420)
        let receiving = Task {
            var (frames, sequences): (_, [UInt64]) = (pair.frames, [])
            while let frame = try await frames.next() { sequences.append(frame.sequence ?? 0) }
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
    }

    /// Shows P207.
    @Test func `nothing is accepted after the connection was closed, and finishing completes`() async throws {
        let pair = try await pair()
        let uploader = pair.uploader
        uploader.connection.close()
        _ = try await uploader.connection.closed()
        #expect(uploader.send(try testImage(8, 8)) == .dropped(.notConnected))
        try await uploader.finish()
    }

    /// Shows P108.
    @Test func `an image that is changed after it was submitted is sent as it was`() async throws {
        var pair = try await pair(.init(quality: 100, subsampling: .yuv444))
        let uploader = pair.uploader
        var image = try solidImage(32, 32, red: 10, green: 20, blue: 30)
        let before = image
        await sendLarge(uploader)
        uploader.send(image)
        try image.fill(255)
        _ = try await pair.next()
        let frame = try await pair.next()
        #expect(try FrameDecoder().decode(frame, as: .rgb).image.peakSignalToNoiseRatio(against: before) > 45)
    }
}
