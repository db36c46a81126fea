/// Cuts a stream of bytes into messages: heads, and the ranges of bytes that are their bodies.
///
/// A pure state machine: it reads nothing and waits for nothing. Feed it what has arrived, in pieces of any size; the
/// pieces make no difference to what comes out, nor to which error is thrown at which byte. Of a head it keeps at most
/// a line's beginning, of a body nothing.
///
/// ```swift
/// var decoder = FrameMessageDecoder()
/// let step = try decoder.decode(bytes)
/// switch step.event {
/// case .incomplete: break                       // read more
/// case .head(let head): prepare(head)           // go on behind step.consumed
/// case .audio(let head): prepare(head)          // likewise
/// case .status(let status): note(status)        // likewise; no body follows
/// case .skipped: skip()                         // likewise: the body that follows means nothing
/// case .body(let isLast): append(bytes.extracting(..<step.consumed), isLast)
/// }
/// ```
public struct FrameMessageDecoder: Sendable {
    /// What the consumed bytes were.
    public enum Event: Sendable, Hashable {
        /// Part of a head; all bytes are consumed, and more are needed.
        case incomplete
        /// A frame's head, or the rest of one. Where its content length is 0 the message has ended with it, and no body
        /// follows.
        case head(FrameHead)
        /// The head of an audio message, or the rest of one; its body follows.
        case audio(AudioHead)
        /// A sender's status, or the rest of one; it has no body.
        case status(SenderStatus)
        /// The head of a message of a kind that this version does not know, or the rest of one.
        ///
        /// Its body follows, where ``FrameMessageDecoder/bodyRemaining`` is over 0, and is to be skipped.
        case skipped
        /// Bytes of the body, the body's last among them or not.
        case body(isLast: Bool)
    }

    /// How far one call got.
    public struct Step: Sendable, Hashable {
        /// The bytes taken from the front of the span; for a body they are the body's bytes.
        public var consumed: Int
        /// What they were.
        public var event: Event

        /// Creates a step.
        public init(consumed: Int, event: Event) {
            self.consumed = consumed
            self.event = event
        }
    }

    private var parser: FrameHeadParser
    private var position = StreamPosition()

    /// Creates a decoder that stands at the first byte of a stream.
    public init(limits: WireLimits = .init()) {
        parser = FrameHeadParser(limits: limits)
    }

    /// The bytes of the current body that are still to come: over 0 only within a body.
    public var bodyRemaining: Int { position.bodyRemaining }

    /// The bytes of the stream consumed so far; after an error, those before the wrong byte.
    public var offset: UInt64 { position.offset }

    /// Whether some bytes of a head have arrived, but not all.
    public var isInHead: Bool { position.failure == nil && parser.byteCount > 0 }

    /// Takes bytes from the front of `bytes`, up to the end of the head or body they belong to.
    ///
    /// An empty span is `.incomplete` with nothing consumed.
    ///
    /// - Throws: what is wrong with the stream, as soon as the first wrong byte is there. The decoder stays failed:
    ///   every later call throws the same. The end of the stream is no concern of this method, see ``finish()``.
    public mutating func decode(_ bytes: Span<UInt8>) throws(WireError) -> Step {
        if let failure = position.failure { throw failure }
        guard position.bodyRemaining > 0 else { return try decodeHead(bytes) }
        guard !bytes.isEmpty else { return Step(consumed: 0, event: .incomplete) }
        let count = min(bytes.count, position.bodyRemaining)
        return Step(consumed: count, event: .body(isLast: position.consumeBody(count)))
    }

    /// Notes that `count` bytes of the body were read elsewhere, such as straight into the frame's buffer.
    ///
    /// A count below 0 is taken as 0, one over ``bodyRemaining`` as that.
    ///
    /// - Returns: whether that ended the body; false where there was none.
    public mutating func consumeBody(_ count: Int) -> Bool { position.consumeBody(count) }

    /// Notes the end of the stream.
    ///
    /// Between messages that is an orderly close, and nothing happens; so it is before the first one.
    ///
    /// - Throws: ``WireError/Code/headTruncated`` or ``WireError/Code/bodyTruncated`` within a message, or the error
    ///   that the stream failed with before.
    public mutating func finish() throws(WireError) {
        try position.finish(headByteCount: parser.byteCount)
    }

    // Inlined, as is what builds the head: copying a step from frame to frame costs as much as a field.
    @inline(__always)
    private mutating func decodeHead(_ bytes: Span<UInt8>) throws(WireError) -> Step {
        var index = 0
        while index < bytes.count {
            if parser.takeWholeLines(bytes, from: &index) { return endFrameHead(consumed: index) }
            do {
                if try parser.takeLine(bytes, from: &index) { return endHead(consumed: index) }
            } catch {
                position.advance(by: index)
                throw position.fail(error.code, detail: error.detail ?? parser.detail(endingWith: bytes[index]))
            }
        }
        position.advance(by: bytes.count)
        return Step(consumed: bytes.count, event: .incomplete)
    }

    @inline(__always)
    private mutating func endFrameHead(consumed count: Int) -> Step {
        let head = parser.fields.head
        parser.reset()
        position.advance(by: count)
        position.beginBody(of: head.contentLength)
        return Step(consumed: count, event: .head(head))
    }

    @inline(never)
    private mutating func endHead(consumed count: Int) -> Step {
        let (event, bodyLength) = (parser.fields.event, parser.fields.bodyLength)
        parser.reset()
        position.advance(by: count)
        position.beginBody(of: bodyLength)
        return Step(consumed: count, event: event)
    }
}
