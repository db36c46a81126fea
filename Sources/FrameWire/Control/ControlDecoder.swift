/// Splits what a receiver writes to its sender into requests.
///
/// This is a pure state machine: it does no I/O and never waits. Feed it the bytes that have arrived, in pieces of any
/// size. How the bytes are split affects neither the events nor which error is thrown at which byte. The decoder stores
/// at most the beginning of one header line, and of a body only the values of an `info`.
///
/// ```swift
/// var decoder = ControlDecoder()
/// let step = try decoder.decode(bytes.span)
/// switch step.event {
/// case .incomplete: break                       // read more
/// case .request(let request): prepare(request)  // go on behind step.consumed
/// case .release(let release): note(release)     // likewise
/// case .skipped(let skipped): note(skipped)     // likewise
/// case .body: break                             // likewise: nothing here has a use for it
/// }
/// ```
package struct ControlDecoder: Sendable {
    /// What the consumed bytes were.
    package enum Event: Sendable, Hashable {
        /// Part of a header, or of an `info`; all bytes are consumed, and more are needed.
        case incomplete
        /// The header of a request, or its remaining part; a body, which is ignored, may follow. An `info` has its body
        /// already.
        case request(ControlRequest)
        /// The same, of a release.
        case release(ReleaseRequest)
        /// The header of a request that is not understood, or its remaining part; a body may follow.
        case skipped(SkippedRequest)
        /// Bytes of a body; `isLast` tells whether they include its last byte.
        case body(isLast: Bool)
    }

    /// The result of one call.
    package struct Step: Sendable, Hashable {
        /// The number of bytes taken from the front of the span.
        package var consumed: Int
        /// What they were.
        package var event: Event

        /// Creates a step.
        package init(consumed: Int, event: Event) {
            self.consumed = consumed
            self.event = event
        }
    }

    private var parser: ControlHeaderParser
    private var position = StreamPosition()

    /// The offset of the current header's first byte in the stream.
    private var headerOffset: UInt64 = 0

    /// The body of an `info` that is being read; nil outside of one.
    private var infoBody: SessionInfoBody?
    /// Whether the next `info` is the rest of one that an earlier version has divided, which is skipped.
    private var skipsInfo = false

    /// Creates a decoder at the first byte of a stream.
    package init(limits: ControlLimits = .init()) {
        parser = ControlHeaderParser(limits: limits)
    }

    /// The number of bytes of the current body that are still to come; 0 outside a body.
    package var bodyRemaining: Int { position.bodyRemaining }

    /// The number of bytes of the stream consumed so far; after an error, the number before the wrong byte.
    package var offset: UInt64 { position.offset }

    /// Whether part of a header, or of an `info`, has arrived, but not all of it.
    package var isInHeader: Bool { position.failure == nil && (parser.byteCount > 0 || infoBody != nil) }

    /// Consumes bytes from the front of `bytes`, up to the end of the header or body that they belong to.
    ///
    /// An empty span yields `.incomplete` and consumes nothing.
    ///
    /// - Throws: An error as soon as the first wrong byte arrives: a malformed request, a missing or invalid
    ///   `Content-Length`, or a header over the limits. The failure is permanent: every later call throws the same
    ///   error. A well-formed request that is not understood is not an error but ``Event/skipped(_:)``. This method
    ///   does not detect the end of the stream; see ``finish()``.
    package mutating func decode(_ bytes: Span<UInt8>) throws(WireError) -> Step {
        if let failure = position.failure { throw failure }
        guard !bytes.isEmpty else { return Step(consumed: 0, event: .incomplete) }
        if position.bodyRemaining > 0 {
            let count = min(bytes.count, position.bodyRemaining)
            return Step(consumed: count, event: .body(isLast: position.consumeBody(count)))
        }
        if parser.byteCount == 0, infoBody == nil,
            let (release, count) = ReleaseRequest.whole(at: bytes, within: parser.limits)
        {
            position.advance(by: count)
            return Step(consumed: count, event: .release(release))
        }
        var index = 0
        repeat {
            let event = infoBody == nil ? try takeHeader(bytes, from: &index) : takeInfo(bytes, from: &index)
            if let event { return Step(consumed: index, event: event) }
            // An `info` goes on behind its header.
        } while index < bytes.count
        return Step(consumed: index, event: .incomplete)
    }

    /// Consumes a header from `index`, up to its end; nil if there is more to come before the event.
    private mutating func takeHeader(_ bytes: Span<UInt8>, from index: inout Int) throws(WireError) -> Event? {
        if parser.byteCount == 0 { headerOffset = position.offset }
        let start = index
        do {
            guard try parser.take(bytes, from: &index) else {
                position.advance(by: index - start)
                return nil
            }
        } catch {
            position.advance(by: index - start)
            throw position.fail(error.code, detail: error.detail ?? parser.detail(endingWith: bytes[index]))
        }
        position.advance(by: index - start)
        let header = parser.end(at: headerOffset)
        switch header.event {
        case .request(.info) where skipsInfo:
            skipsInfo = false
            return skipInfo(header.contentLength, .infoInvalid)
        case .request(.info) where header.contentLength > 0:
            infoBody = SessionInfoBody(length: header.contentLength)
            return nil
        case .skipped(let request) where request.isInfo:
            skipsInfo = true
        case .request, .release, .skipped, .incomplete, .body:
            break
        }
        position.beginBody(of: header.contentLength)
        return header.event
    }

    /// Consumes the body of an `info` from `index`, up to its end; nil if there is more to come.
    private mutating func takeInfo(_ bytes: Span<UInt8>, from index: inout Int) -> Event? {
        // Moved out, to avoid a copy at its first change.
        guard var body = infoBody.take() else { return nil }
        let start = index
        do throws(HeaderFault) {
            try body.take(bytes, from: &index)
        } catch {
            position.advance(by: index - start)
            return skipInfo(body.remaining, error.code)
        }
        position.advance(by: index - start)
        if body.remaining == 0 { return .request(.info(body.info)) }
        infoBody = body
        return nil
    }

    /// Skips the rest of an `info`, from its wrong byte on.
    private mutating func skipInfo(_ byteCount: Int, _ code: WireError.Code) -> Event {
        let skipped = SkippedRequest(
            name: ControlName.info.rawValue,
            reason: .malformed(code),
            byteOffset: position.offset
        )
        position.beginBody(of: byteCount)
        return .skipped(skipped)
    }

    /// Marks the end of the stream.
    ///
    /// Between requests, and before the first one, the end is an orderly close and has no effect.
    ///
    /// - Throws: `headTruncated` or `bodyTruncated` within a request, or the error
    ///   with which the stream failed earlier.
    package mutating func finish() throws(WireError) {
        if let body = infoBody.take() { throw position.fail(.bodyTruncated, detail: body.progress) }
        try position.finish(headerByteCount: parser.byteCount)
    }
}
