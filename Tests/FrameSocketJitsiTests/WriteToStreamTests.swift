import FrameSocket
import FrameSocketTesting
import Locking
import TestSupport
import Testing

@testable import FrameSocketJitsi

/// Bytes written by an uploader that a program has kept.
@Suite(.timeLimit(.minutes(5))) struct WriteToStreamTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// A message as Jitsi's uploader makes it, with a body of this length.
    private static func message(_ byteCount: Int, _ orientation: FrameOrientation = .right) -> [UInt8] {
        let header = FrameHeader(
            contentLength: byteCount,
            info: FrameInfo(bufferSize: BufferSize(width: 4, height: 3), orientation: orientation)
        )
        return header.encoded() + body(byteCount)
    }

    private static func body(_ byteCount: Int) -> [UInt8] { (0..<byteCount).map { UInt8(truncatingIfNeeded: $0) } }

    /// Writes bytes once, and returns how many were accepted.
    private static func write(_ bytes: ArraySlice<UInt8>, to connection: JitsiConnection?) -> Int {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let connection, let start = bytes.baseAddress else { return 0 }
            return unsafe connection.writeToStream(buffer: start, maxLength: bytes.count)
        }
    }

    /// Writes everything in chunks as Jitsi's uploader does: the next one once there is space.
    private func write(_ bytes: [UInt8], by chunk: Int, to connection: JitsiConnection) async {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = Self.write(rest.prefix(chunk), to: connection)
            guard written >= 0 else { return }
            if written == 0 { await Task.yield() }
            rest = rest.dropFirst(written)
        }
    }

    @Test(arguments: [1, 7, 10_240, 1 << 20])
    func `frames arrive whole, however they are cut`(chunk: Int) async throws {
        let server = try directory.server()
        let connection = try #require(JitsiConnection(filePath: directory.socket))
        let lengths = [300, 25_000, 10_240, 12_000]
        #expect(connection.open())
        let host = try #require(try await firstConnection(of: server))
        let bytes = lengths.flatMap { Self.message($0) }
        async let writing: Void = write(bytes, by: chunk, to: connection)
        var frames = host.frames.makeAsyncIterator()
        for length in lengths {
            let frame = try #require(try await frames.next())
            // Short bodies are padded.
            #expect(frame.bytes.prefix(length).elementsEqual(Self.body(length)))
            #expect(frame.orientation == .right && frame.bufferSize == BufferSize(width: 4, height: 3))
        }
        await writing
    }

    @Test func `an uploader that waits for space after each chunk sends everything`() async throws {
        let server = try directory.server()
        let connection = try #require(JitsiConnection(filePath: directory.socket))
        let rest = Locked<ArraySlice<UInt8>>([30_000, 40_000].flatMap { Self.message($0) }[...])
        connection.streamHasSpaceAvailable = { [weak connection] in
            let written = Self.write(rest.withLock { $0.prefix(10_240) }, to: connection)
            if written > 0 { rest.withLock { $0 = $0.dropFirst(written) } }
        }
        #expect(connection.open())
        let host = try #require(try await firstConnection(of: server))
        var frames = host.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == Self.body(30_000))
        #expect(try await frames.next()?.jpeg?.array() == Self.body(40_000))
    }

    @Test func `bytes that are no frame close the connection with an error`() async throws {
        let server = try directory.server()
        let connection = try #require(JitsiConnection(filePath: directory.socket))
        let recorder = Recorder(of: connection)
        #expect(connection.open())
        let host = try #require(try await firstConnection(of: server))
        let bytes = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        #expect(Self.write(bytes[...], to: connection) == -1)
        #expect(await becomesTrue { recorder.ends.count == 1 })
        #expect(recorder.ends.first.flatMap(\.self) != nil)
        _ = try await host.closed()
    }

    /// The first frame's end is told when the app, which reads neither, closes its connection.
    @Test func `a frame of an earlier connection makes no room in the next one`() async throws {
        let app = try PeerSocket.listening(at: directory.socket)
        let connection = try #require(JitsiConnection(filePath: directory.socket))
        let large = Self.message(12_000_000)
        #expect(connection.open())
        let first = try await app.accepted()
        let earlier = try #require(connection.connection)
        #expect(Self.write(large[...], to: connection) == large.count)
        connection.close()
        #expect(connection.open())
        let second = try await app.accepted()
        #expect(Self.write(large[...], to: connection) == large.count)
        first.close()
        _ = try await earlier.closed()
        #expect(Self.write(Self.message(300)[...], to: connection) == 0)
        second.close()
    }

    @Test func `nothing is accepted before the connection is open, or without bytes`() throws {
        let connection = try #require(JitsiConnection(filePath: directory.socket))
        var byte: UInt8 = 0
        #expect(unsafe connection.writeToStream(buffer: &byte, maxLength: 1) == 0)
        let server = try directory.server()
        #expect(connection.open())
        #expect(unsafe connection.writeToStream(buffer: &byte, maxLength: 0) == 0)
        #expect(unsafe connection.writeToStream(buffer: &byte, maxLength: -1) == 0)
        withExtendedLifetime(server) {}
    }

    @Test func `an uploader and written frames share the connection`() async throws {
        let server = try directory.server()
        let connection = try #require(JitsiConnection(filePath: directory.socket))
        let uploader = JitsiUploader(connection: connection)
        #expect(connection.open())
        let host = try #require(try await firstConnection(of: server))
        let image = try testImage(64, 48)
        async let writing: Void = write(
            (0..<20).flatMap { _ in Self.message(20_000, .left) },
            by: 10_240,
            to: connection
        )
        for _ in 0..<20 {
            _ = uploader.uploader?.send(copying: image)
            await Task.yield()
        }
        var written = 0
        for try await frame in host.frames {
            if frame.orientation == .left {
                #expect(frame.jpeg?.array() == Self.body(20_000))
                written += 1
            }
            if written == 20 { break }
        }
        await writing
    }
}
