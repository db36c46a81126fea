/// The position of a decoder in its stream: the offset, the current body, and the error, if any.
@usableFromInline
struct StreamPosition: Sendable {
    /// The number of bytes of the stream consumed so far; after an error, the number before the wrong byte.
    private(set) var offset: UInt64 = 0

    /// The number of bytes of the current body that are still to come; 0 outside a body.
    @usableFromInline private(set) var bodyRemaining = 0

    /// The error with which the stream failed, permanently.
    private(set) var failure: WireError?

    private var bodyLength = 0

    /// Counts consumed bytes of a header.
    @inline(__always)
    mutating func advance(by count: Int) {
        offset &+= UInt64(count)
    }

    /// Marks the end of a header that a body of `length` bytes follows.
    @inline(__always)
    mutating func beginBody(of length: Int) {
        bodyLength = length
        bodyRemaining = length
    }

    /// Counts consumed bytes of the body, clamped to 0 and the number remaining; returns true if that ended the body.
    @inline(__always)
    mutating func consumeBody(_ count: Int) -> Bool {
        let count = min(max(count, 0), bodyRemaining)
        guard count > 0 else { return false }
        bodyRemaining -= count
        offset &+= UInt64(count)
        return bodyRemaining == 0
    }

    /// Records that the next byte is wrong, and returns the error, which is permanent.
    @inline(never)
    mutating func fail(_ code: WireError.Code, detail: String) -> WireError {
        let error = WireError(code: code, byteOffset: offset, detail: detail)
        failure = error
        bodyRemaining = 0
        return error
    }

    /// Marks the end of the stream after `headerByteCount` bytes of a header: an error unless it is between messages.
    mutating func finish(headerByteCount: Int) throws(WireError) {
        if let failure { throw failure }
        if bodyRemaining > 0 {
            throw fail(.bodyTruncated, detail: "\(bodyLength - bodyRemaining) of \(bodyLength) bytes")
        }
        if headerByteCount > 0 { throw fail(.headTruncated, detail: "after \(headerByteCount) bytes") }
    }
}
