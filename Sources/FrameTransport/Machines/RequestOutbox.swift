package import FrameWire

/// The requests that a receiver has for a sender which may not read them: what the socket does not take waits, up to a limit.
package struct RequestOutbox: Sendable {
    /// The most bytes that wait.
    ///
    /// A peer that has left so many unread does not listen.
    package static let maximumByteCount = 4096

    /// What waits.
    package private(set) var bytes: [UInt8] = []

    /// Whether any byte was written: a peer that closes without reading it resets the connection.
    package private(set) var hasWritten = false

    package init() {}

    /// Takes up a request, unless too many wait; a request is never cut.
    package mutating func add(_ request: ControlRequest) {
        let encoded = request.encoded()
        if bytes.count + encoded.count <= Self.maximumByteCount { bytes += encoded }
    }

    /// Notes that the socket took so many bytes.
    package mutating func didWrite(_ count: Int) {
        hasWritten = hasWritten || count > 0
        bytes.removeFirst(min(max(0, count), bytes.count))
    }
}
