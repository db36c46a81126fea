/// Cuts what a receiver writes to its sender into requests.
///
/// A pure state machine: it reads nothing and waits for nothing. Feed it what has arrived, in pieces of any size; the
/// pieces make no difference to what comes out, nor to which error is thrown at which byte. Of a head it keeps at most
/// a line's beginning, of a body nothing.
///
/// ```swift
/// var decoder = ControlDecoder()
/// let step = try decoder.decode(bytes)
/// switch step.event {
/// case .incomplete: break                       // read more
/// case .request(let request): obey(request)     // go on behind step.consumed
/// case .skipped(let skipped): log(skipped)      // likewise
/// case .body: break                             // likewise: nothing here has a use for it
/// }
/// ```
public struct ControlDecoder: Sendable {
    /// What the consumed bytes were.
    public enum Event: Sendable, Hashable {
        /// Part of a head; all bytes are consumed, and more are needed.
        case incomplete
        /// The head of a request, or the rest of one; a body, which means nothing, may follow.
        case request(ControlRequest)
        /// The head of a request that means nothing here, or the rest of one; a body may follow.
        case skipped(SkippedRequest)
        /// Bytes of a body, the body's last among them or not.
        case body(isLast: Bool)
    }

    /// How far one call got.
    public struct Step: Sendable, Hashable {
        /// The bytes taken from the front of the span.
        public var consumed: Int
        /// What they were.
        public var event: Event

        /// Creates a step.
        public init(consumed: Int, event: Event) {
            self.consumed = consumed
            self.event = event
        }
    }

    private var parser: ControlHeadParser
    private var position = StreamPosition()

    /// The first byte of the current head, counted from the stream's first.
    private var headOffset: UInt64 = 0

    /// Creates a decoder that stands at the first byte of a stream.
    public init(limits: ControlLimits = .init()) {
        parser = ControlHeadParser(limits: limits)
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
    /// - Throws: what is wrong with the stream, as soon as the first wrong byte is there: not the form of a request, no
    ///   sound `Content-Length`, a head over the limits. The decoder stays failed: every later call throws the same.
    ///   A sound request that means nothing here is no error but ``Event/skipped(_:)``, and the end of the stream is no
    ///   concern of this method, see ``finish()``.
    public mutating func decode(_ bytes: Span<UInt8>) throws(WireError) -> Step {
        if let failure = position.failure { throw failure }
        guard !bytes.isEmpty else { return Step(consumed: 0, event: .incomplete) }
        if position.bodyRemaining > 0 {
            let count = min(bytes.count, position.bodyRemaining)
            return Step(consumed: count, event: .body(isLast: position.consumeBody(count)))
        }
        if parser.byteCount == 0 { headOffset = position.offset }
        var index = 0
        do {
            guard try parser.take(bytes, from: &index) else {
                position.advance(by: index)
                return Step(consumed: index, event: .incomplete)
            }
        } catch {
            position.advance(by: index)
            throw position.fail(error.code, detail: error.detail ?? parser.detail(endingWith: bytes[index]))
        }
        position.advance(by: index)
        let (event, contentLength) = parser.end(at: headOffset)
        position.beginBody(of: contentLength)
        return Step(consumed: index, event: event)
    }

    /// Notes the end of the stream.
    ///
    /// Between requests that is an orderly close, and nothing happens; so it is before the first one.
    ///
    /// - Throws: ``WireError/Code/headTruncated`` or ``WireError/Code/bodyTruncated`` within a request, or the error
    ///   that the stream failed with before.
    public mutating func finish() throws(WireError) {
        try position.finish(headByteCount: parser.byteCount)
    }
}
