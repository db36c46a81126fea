/// Where a decoder stands in its stream: behind which byte, within which body, or at which error.
struct StreamPosition: Sendable {
    /// The bytes of the stream consumed so far; after an error, those before the wrong byte.
    private(set) var offset: UInt64 = 0

    /// The bytes of the current body that are still to come: over 0 only within a body.
    private(set) var bodyRemaining = 0

    /// What the stream failed with; it stays failed.
    private(set) var failure: WireError?

    private var bodyLength = 0

    /// Notes bytes of a head.
    @inline(__always)
    mutating func advance(by count: Int) {
        offset &+= UInt64(count)
    }

    /// Notes the end of a head that a body of so many bytes follows.
    @inline(__always)
    mutating func beginBody(of length: Int) {
        bodyLength = length
        bodyRemaining = length
    }

    /// Notes bytes of the body, no more than remain and no fewer than 0; true where that ended it.
    @inline(__always)
    mutating func consumeBody(_ count: Int) -> Bool {
        let count = min(max(count, 0), bodyRemaining)
        guard count > 0 else { return false }
        bodyRemaining -= count
        offset &+= UInt64(count)
        return bodyRemaining == 0
    }

    /// Notes that the next byte is wrong, and returns the error, which stays.
    @inline(never)
    mutating func fail(_ code: WireError.Code, detail: String) -> WireError {
        let error = WireError(code: code, byteOffset: offset, detail: detail)
        failure = error
        bodyRemaining = 0
        return error
    }

    /// Notes the end of the stream behind so many bytes of a head: an error unless it is between messages.
    mutating func finish(headByteCount: Int) throws(WireError) {
        if let failure { throw failure }
        if bodyRemaining > 0 {
            throw fail(.bodyTruncated, detail: "got \(bodyLength - bodyRemaining), want \(bodyLength)")
        }
        if headByteCount > 0 { throw fail(.headTruncated, detail: "got \(headByteCount) bytes") }
    }
}
