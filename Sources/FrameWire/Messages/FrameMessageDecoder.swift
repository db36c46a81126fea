/// Splits a stream of bytes into messages: headers, and the byte ranges of their bodies.
///
/// This is a pure state machine: it does no I/O and never waits. Feed it the bytes that have arrived, in pieces of any
/// size. How the bytes are split affects neither the events nor which error is thrown at which byte. The decoder stores
/// at most the beginning of one header line, and of a body only the values of an `info`.
///
/// ```swift
/// var decoder = FrameMessageDecoder()
/// let step = try decoder.decode(bytes.span)
/// switch step.event {
/// case .incomplete: break                                // read more
/// case .message(.frame(let header)): prepare(header)     // its body follows, behind step.consumed
/// case .message(.status(let status)): note(status)       // no body follows
/// case .message: skip()                                  // others: decoder.bodyRemaining bytes of body follow
/// case .body(let isLast): append(bytes[..<step.consumed], isLast)
/// }
/// ```
public struct FrameMessageDecoder: Sendable {
    /// A message, as its header describes it.
    public enum Message: Sendable, Hashable {
        /// A frame, whose JPEG follows as the body. If its content length is 0, no body follows.
        case frame(FrameHeader)
        /// An audio message, whose samples follow as the body.
        case audio(AudioHeader)
        /// A sender's status; it has no body.
        case status(SenderStatus)
        /// What a sender states about itself; its body has been read with the header.
        case info(ControlRequest.SessionInfo)
        /// The announcement of a shared buffer; it has no body.
        case sharedBuffer(SharedFrameHeader.Buffer)
        /// A frame in a shared buffer; it has no body.
        case sharedFrame(SharedFrameHeader)
        /// A message of a kind that this version does not know. A body that follows is to be skipped.
        case unknown
    }

    /// What the consumed bytes were.
    public enum Event: Sendable, Hashable {
        /// Part of a header, or of an `info`; all bytes are consumed, and more are needed.
        case incomplete
        /// The header of a message, or its remaining part; a body follows if ``FrameMessageDecoder/bodyRemaining`` is
        /// greater than 0.
        case message(Message)
        /// Bytes of the body; `isLast` tells whether they include its last byte.
        case body(isLast: Bool)
    }

    /// The result of one call.
    public struct Step: Sendable, Hashable {
        /// The number of bytes taken from the front of the span; within a body, these are the body's bytes.
        public var consumed: Int
        /// What they were.
        public var event: Event

        /// Creates a step.
        package init(consumed: Int, event: Event) {
            self.consumed = consumed
            self.event = event
        }
    }

    private var parser: FrameHeaderParser
    @usableFromInline private(set) var position = StreamPosition()
    /// The body of an `info` that is being read; nil outside of one.
    private var infoBody: SessionInfoBody?

    /// Creates a decoder at the first byte of a stream.
    public init(limits: FrameMessageDecoder.Limits = .init()) {
        parser = FrameHeaderParser(limits: limits)
    }

    /// The number of bytes of the current body that are still to come; 0 outside a body, and in that of an `info`.
    @inlinable
    public var bodyRemaining: Int {
        // Called from another module, this would copy the whole decoder.
        position.bodyRemaining
    }

    /// The number of bytes of the stream consumed so far; after an error, the number before the wrong byte.
    public var offset: UInt64 { position.offset }

    /// Whether part of a header, or of an `info`, has arrived, but not all of it.
    package var isInHeader: Bool { position.failure == nil && (parser.byteCount > 0 || infoBody != nil) }

    /// Consumes bytes from the front of `bytes`, up to the end of the header or body that they belong to.
    ///
    /// An empty span yields `.incomplete` and consumes nothing.
    ///
    /// - Throws: An error as soon as the first wrong byte arrives. The failure is permanent: every later call throws
    ///   the same error. This method does not detect the end of the stream; see ``finish()``.
    public mutating func decode(_ bytes: Span<UInt8>) throws(WireError) -> Step {
        if let failure = position.failure { throw failure }
        guard position.bodyRemaining > 0 else {
            if infoBody != nil { return try takeInfo(bytes, from: 0) }
            return try decodeHeader(bytes)
        }
        guard !bytes.isEmpty else { return Step(consumed: 0, event: .incomplete) }
        let count = min(bytes.count, position.bodyRemaining)
        return Step(consumed: count, event: .body(isLast: position.consumeBody(count)))
    }

    /// Marks `count` bytes of the body as read elsewhere, for example directly into the frame's buffer.
    ///
    /// A negative count is treated as 0, and a count over ``bodyRemaining`` as ``bodyRemaining``.
    ///
    /// - Returns: Whether that ended the body; false if there was none.
    package mutating func consumeBody(_ count: Int) -> Bool { position.consumeBody(count) }

    /// Marks the end of the stream.
    ///
    /// Between messages, and before the first one, the end is an orderly close and has no effect.
    ///
    /// - Throws: `headTruncated` or `bodyTruncated` within a message, or the error
    ///   with which the stream failed earlier.
    public mutating func finish() throws(WireError) {
        if let body = infoBody.take() { throw position.fail(.bodyTruncated, detail: body.progress) }
        try position.finish(headerByteCount: parser.byteCount)
    }

    // Inlined, as is the code that builds the header: copying a step from call to call costs as much as a field.
    @inline(__always)
    private mutating func decodeHeader(_ bytes: Span<UInt8>) throws(WireError) -> Step {
        var index = 0
        while index < bytes.count {
            if parser.takeWholeLines(bytes, from: &index) { return endFrameHeader(consumed: index) }
            let isEnd: Bool
            do {
                isEnd = try parser.takeLine(bytes, from: &index)
            } catch {
                position.advance(by: index)
                throw position.fail(error.code, detail: error.detail ?? parser.detail(endingWith: bytes[index]))
            }
            guard isEnd else { continue }
            if let info = parser.fields.info { return try beginInfo(info, bytes, from: index) }
            return endHeader(consumed: index)
        }
        position.advance(by: bytes.count)
        return Step(consumed: bytes.count, event: .incomplete)
    }

    @inline(__always)
    private mutating func endFrameHeader(consumed count: Int) -> Step {
        let header = parser.fields.header
        parser.reset()
        position.advance(by: count)
        position.beginBody(of: header.contentLength)
        return Step(consumed: count, event: .message(.frame(header)))
    }

    @inline(never)
    private mutating func beginInfo(
        _ info: ControlRequest.SessionInfo,
        _ bytes: Span<UInt8>,
        from index: Int
    ) throws(WireError) -> Step {
        infoBody = SessionInfoBody(info, length: parser.fields.bodyLength)
        parser.reset()
        position.advance(by: index)
        return try takeInfo(bytes, from: index)
    }

    /// Consumes the body of an `info` from `start`, up to its end.
    @inline(never)
    private mutating func takeInfo(_ bytes: Span<UInt8>, from start: Int) throws(WireError) -> Step {
        // Moved out, to avoid a copy at its first change.
        guard var body = infoBody.take() else { return Step(consumed: start, event: .incomplete) }
        var index = start
        do throws(HeaderFault) {
            try body.take(bytes, from: &index)
        } catch {
            position.advance(by: index - start)
            throw position.fail(error.code, detail: error.detail ?? "")
        }
        position.advance(by: index - start)
        if body.remaining == 0 { return Step(consumed: index, event: .message(.info(body.info))) }
        infoBody = body
        return Step(consumed: index, event: .incomplete)
    }

    @inline(never)
    private mutating func endHeader(consumed count: Int) -> Step {
        let (message, bodyLength) = (parser.fields.message, parser.fields.bodyLength)
        parser.reset()
        position.advance(by: count)
        position.beginBody(of: bodyLength)
        return Step(consumed: count, event: .message(message))
    }
}
