package import FrameWire

/// A receiver's requests to a sender that may not read them: what the socket does not accept waits, up to a limit.
package struct RequestOutbox: Sendable {
    /// The maximum number of waiting bytes: room for the longest `info`, and other requests.
    ///
    /// A peer that has left this many unread does not listen.
    package static let maximumByteCount = 16 << 10

    /// The waiting bytes.
    package private(set) var bytes: [UInt8] = []

    /// Whether any byte was written: a peer that closes without reading it resets the connection.
    package private(set) var hasWritten = false

    package init() {}

    /// Queues a request, unless too many bytes wait; a request is never cut.
    ///
    /// - Returns: Whether it was queued.
    @discardableResult
    package mutating func add(_ request: ControlRequest) -> Bool { add(request.encoded()) }

    /// Queues a release in the same way.
    package mutating func add(_ release: ReleaseRequest) -> Bool { add(release.encoded()) }

    /// Queues what tells a sender that this side ends, and has not taken everything that it has read.
    ///
    /// Senders that do not know this request skip it. There is always room for it, once.
    package mutating func addDiscardNotice() { bytes += Array(Self.discardNotice.utf8) }

    private static let discardNotice = "POST /discarded HTTP/1.1\r\nContent-Length: 0\r\n\r\n"

    private mutating func add(_ encoded: [UInt8]) -> Bool {
        let limit = Self.maximumByteCount - Self.discardNotice.utf8.count
        guard bytes.count + encoded.count <= limit else { return false }
        bytes += encoded
        return true
    }

    /// Records that the socket accepted `count` bytes.
    package mutating func didWrite(_ count: Int) {
        hasWritten = hasWritten || count > 0
        // What is written as a whole, as nearly always, leaves its memory to the next request.
        guard count < bytes.count else { return bytes.removeAll(keepingCapacity: true) }
        bytes.removeFirst(max(0, count))
    }
}
