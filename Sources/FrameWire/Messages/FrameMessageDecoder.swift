/// Splits a stream of bytes into messages: headers, and the byte ranges of their bodies.
///
/// This is a pure state machine: it does no I/O and never waits. Feed it the bytes that have arrived, in pieces of any
/// size. How the bytes are split affects neither the events nor which error is thrown for which byte. The decoder stores
/// at most one line of a header that arrives in pieces, and of a body only the values of an `info`.
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

    private let limits: Limits
    @usableFromInline private(set) var stream: StreamReader

    /// Creates a decoder at the first byte of a stream.
    public init(limits: FrameMessageDecoder.Limits = .init()) {
        self.limits = limits
        stream = StreamReader(.message, limits: limits)
    }

    /// The number of bytes of the current body that are still to come; 0 outside a body, and in that of an `info`.
    @inlinable
    public var bodyRemaining: Int {
        // Called from another module, this would copy the whole decoder.
        stream.bodyRemaining
    }

    /// The number of bytes of the stream consumed so far; after an error, the number before the wrong byte.
    public var offset: UInt64 { stream.offset }

    /// Whether part of a header, or of an `info`, has arrived, but not all of it.
    package var isInHeader: Bool { stream.isInHeader }

    /// Consumes bytes from the front of `bytes`, up to the end of the header or body that they belong to.
    ///
    /// An empty span yields `.incomplete` and consumes nothing.
    ///
    /// - Throws: An error for the first wrong byte: in a start line as soon as it arrives, in another line at the latest
    ///   when that is complete, in an `info` with its last byte. The failure is permanent: every later call throws the
    ///   same error. This method does not detect the end of the stream; see ``finish()``.
    public mutating func decode(_ bytes: Span<UInt8>) throws(WireError) -> Step {
        var index = 0
        while true {
            switch try stream.next(bytes, from: &index) {
            case .incomplete: return Step(consumed: index, event: .incomplete)
            case .body: return Step(consumed: index, event: .body(isLast: stream.bodyRemaining == 0))
            case .header:
                let message = try message()
                let length = stream.header.fields.contentLength
                if case .info = message, length > 0 {
                    stream.beginText(of: length)
                    continue
                }
                stream.endHeader(bodyOf: length)
                return Step(consumed: index, event: .message(message))
            case .text:
                guard case .info(var info) = try message() else { continue }
                if let fault = info.read(stream.text, behind: stream.header) { throw stream.fail(fault) }
                stream.endText()
                return Step(consumed: index, event: .message(.info(info)))
            }
        }
    }

    /// Marks `count` bytes of the body as read elsewhere, for example directly into the frame's buffer.
    ///
    /// A negative count is treated as 0, and a count over ``bodyRemaining`` as ``bodyRemaining``.
    ///
    /// - Returns: Whether that ended the body; false if there was none.
    package mutating func consumeBody(_ count: Int) -> Bool { stream.consumeBody(count) }

    /// Marks the end of the stream.
    ///
    /// Between messages, and before the first one, the end is an orderly close and has no effect.
    ///
    /// - Throws: `headTruncated` or `bodyTruncated` within a message, unless that is wrong already, or the error
    ///   with which the stream failed earlier.
    public mutating func finish() throws(WireError) { try stream.finish() }

    @inline(__always)
    private mutating func message() throws(WireError) -> Message {
        do {
            return try Message(&stream.header.fields, limits)
        } catch {
            throw stream.fail(HeaderFault(error.code, at: stream.header.byteCount - 1, detail: error.detail))
        }
    }
}

extension FrameMessageDecoder {
    /// The upper bounds that a decoder enforces on a peer.
    ///
    /// Each limit is checked before the data it bounds is acted on. A value equal to a limit is accepted.
    public struct Limits: Sendable, Hashable {
        /// The maximum size of a header in bytes, including the line feed that ends its blank line: 8,192.
        public var maximumHeaderBytes = 8_192

        /// The maximum number of fields in a header, including unknown ones: 32.
        public var maximumFields = 32

        /// The maximum length of a body in bytes, the value of `Content-Length`: 32 MiB.
        public var maximumContentLength = 32 << 20

        /// The maximum length of an audio message's body in bytes: 256 KiB.
        public var maximumAudioBytes = 256 << 10

        /// The maximum width and height of an image in pixels: 16,384.
        public var maximumDimension = 16_384

        /// The maximum number of pixels of an image, its width times its height: 2^25.
        public var maximumPixels = 1 << 25

        /// Creates the default limits.
        public init() {}
    }
}
