import FrameSocket
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A server that reads one connection at a fixed rate, as the far end of a slow link does, and notes what arrives when.
///
/// - Note: `@unchecked Sendable` holds because only its thread changes what it notes, and it is read after the thread's end.
final class SlowReceiver: @unchecked Sendable {
    /// A frame that has arrived.
    struct Arrival {
        let time: UInt64
        let timestamp: UInt64
        let byteCount: Int
        /// The quality that its tables say.
        let quality: Int
    }

    /// The time and number of bytes of each read.
    private(set) var reads: [(time: UInt64, byteCount: Int)] = []
    private(set) var arrivals: [Arrival] = []

    private let bytesPerSecond: Double
    private let listener: Int32
    private let isEnding = Locked(false)
    private var decoder = FrameMessageDecoder()
    private var header: FrameHeader?
    private var body: [UInt8] = []

    /// Listens at a path, and reads so many bytes a second of the first connection.
    init(at path: String, bytesPerSecond: Double) throws {
        self.bytesPerSecond = bytesPerSecond
        listener = socket(AF_UNIX, Self.stream, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let isBound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard listener >= 0, isBound == 0, listen(listener, 1) == 0 else { throw BaselineFailure() }
    }

    private static var stream: Int32 {
        #if canImport(Glibc)
            Int32(SOCK_STREAM.rawValue)
        #else
            SOCK_STREAM
        #endif
    }

    /// Reads until ``end()``, on the calling thread.
    func run() {
        let connection = accept(listener, nil, nil)
        defer {
            close(connection)
            close(listener)
        }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        // The time at which the link is free again: it saves up nothing.
        var freeAt = MonotonicClock.now()
        while !isEnding.withLock({ $0 }) {
            var ready = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&ready, 1, 20) > 0 else { continue }
            let now = MonotonicClock.now()
            if freeAt > now { usleep(useconds_t((freeAt - now) / 1_000)) }
            let count = unsafe read(connection, &buffer, buffer.count)
            guard count > 0 else { return }
            freeAt = max(freeAt, now) + UInt64(Double(count) / bytesPerSecond * 1e9)
            // The bytes are through when the link is free again.
            reads.append((freeAt, count))
            take(buffer[..<count], at: freeAt)
        }
    }

    func end() { isEnding.withLock { $0 = true } }

    private func take(_ bytes: ArraySlice<UInt8>, at time: UInt64) {
        var rest = bytes
        while !rest.isEmpty {
            guard let step = try? decoder.decode(rest.span) else { return }
            switch step.event {
            case .message(.frame(let header)): (self.header, body) = (header, [])
            case .body(let isLast):
                body += rest.prefix(step.consumed)
                guard isLast, let header else { break }
                arrivals.append(
                    Arrival(
                        time: time,
                        timestamp: header.timestamp ?? 0,
                        byteCount: body.count,
                        quality: Self.quality(of: body)
                    )
                )
            default: break
            }
            rest = rest.dropFirst(step.consumed)
        }
    }

    /// Returns the quality of a JPEG, from the last step of its first table: libjpeg's is 99 at quality 50.
    private static func quality(of jpeg: [UInt8]) -> Int {
        guard let start = jpeg.firstRange(of: [0xFF, 0xDB])?.upperBound, start + 66 < jpeg.count else { return 0 }
        let scale = Double(jpeg[start + 66]) / 0.99
        // From 255 on, the step says no more than that the quality is at most 19.
        return Int((scale <= 100 ? 100 - scale / 2 : 5_000 / scale).rounded())
    }
}
