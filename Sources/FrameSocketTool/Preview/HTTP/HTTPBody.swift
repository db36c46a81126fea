internal import CMicroHTTPD
import FrameSocket

/// The body of an answer, which the server's thread reads as its client takes it; nothing of an image is copied before.
enum HTTPBody {
    /// What the library holds on to until the answer has ended.
    private final class Reader {
        let read: (_ position: Int, _ room: inout MutableSpan<UInt8>) -> Int
        let end: () -> Void

        init(read: @escaping (Int, inout MutableSpan<UInt8>) -> Int, end: @escaping () -> Void) {
            self.read = read
            self.end = end
        }
    }

    /// Creates the library's response; nil if there is no memory.
    static func make(_ body: HTTPResponse.Body, for connection: OpaquePointer) -> OpaquePointer? {
        switch body {
        case .bytes(let bytes):
            return unsafe bytes.withUnsafeBytes { bytes in
                unsafe microhttpd_response(bytes.baseAddress, bytes.count)
            }
        case .frame(let frame):
            let reader = Reader { position, room in
                copy(frame, from: position, to: &room)
            } end: {
            }
            return unsafe make(reader, size: UInt64(frame.count))
        case .stream(let stream):
            unsafe stream.begin(on: connection)
            let reader = Reader { _, room in
                stream.read(into: &room)
            } end: {
                stream.end()
            }
            return unsafe make(reader, size: microhttpd_unknown_size)
        }
    }

    private static func make(_ reader: Reader, size: UInt64) -> OpaquePointer? {
        let response = unsafe microhttpd_read_response(
            size,
            HTTPServer.memoryPerConnection,
            { context, position, room, count in
                guard let context = unsafe context, let room = unsafe room else { return microhttpd_end_with_error }
                let reader = unsafe Unmanaged<Reader>.fromOpaque(context).takeUnretainedValue()
                return unsafe room.withMemoryRebound(to: UInt8.self, capacity: count) { room in
                    var span = unsafe MutableSpan(_unsafeStart: room, count: count)
                    return reader.read(Int(clamping: position), &span)
                }
            },
            Unmanaged.passRetained(reader).toOpaque(),
            { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<Reader>.fromOpaque(context).takeRetainedValue().end()
            }
        )
        if unsafe response == nil {
            unsafe Unmanaged.passUnretained(reader).release()
            reader.end()
        }
        return unsafe response
    }

    private static func copy(_ frame: FrameBytes, from position: Int, to room: inout MutableSpan<UInt8>) -> Int {
        let count = min(frame.count - position, room.count)
        guard count > 0 else { return microhttpd_end_of_stream }
        frame.withSpan { frame in
            let piece = frame.extracting(position..<(position + count))
            unsafe room.withUnsafeMutableBytes { room in
                unsafe piece.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
            }
        }
        return count
    }
}
