/// Follows a stream through headers and bodies, to its end or its first fault.
@usableFromInline
struct StreamReader: Sendable {
    /// What consumed bytes were.
    enum Part {
        /// Part of a header or of a text; all bytes are consumed, and more are needed.
        case incomplete
        /// A header, or its remaining part; ``endHeader(bodyOf:)``, ``beginText(of:)`` or ``fail(_:)`` must follow.
        case header
        /// A text, or its remaining part; ``endText()`` or ``fail(_:)`` must follow.
        case text
        /// Bytes of a body.
        case body
    }

    /// The current header; complete while a text is read.
    var header: HeaderParser
    /// The body that is kept instead of being skipped: the values of an `info`.
    private(set) var text: [UInt8] = []
    private var textLength = 0

    /// The number of bytes of the current body that are still to come; 0 outside a body.
    @usableFromInline private(set) var bodyRemaining = 0
    private var bodyLength = 0

    /// The error with which the stream failed, permanently.
    private(set) var failure: WireError?

    /// The number of bytes of the stream before the current header.
    private(set) var headerOffset: UInt64 = 0

    init(_ start: StartLine, limits: FrameMessageDecoder.Limits) {
        header = HeaderParser(start, limits: limits)
    }

    /// The number of bytes of the stream consumed so far; after an error, the number before the wrong byte.
    var offset: UInt64 { failure?.byteOffset ?? headerOffset &+ UInt64(header.byteCount + text.count) }

    /// Whether part of a header or of a text has arrived, but not all of it.
    var isInHeader: Bool { failure == nil && header.byteCount > 0 }

    /// Consumes bytes from `index`, up to the end of the header, text or body that they belong to.
    @inline(__always)
    mutating func next(_ bytes: Span<UInt8>, from index: inout Int) throws(WireError) -> Part {
        if let failure { throw failure }
        guard bodyRemaining == 0 else {
            let count = min(bytes.count - index, bodyRemaining)
            index += count
            _ = consumeBody(count)
            return count > 0 ? .body : .incomplete
        }
        guard textLength == 0 else { return takeText(bytes, from: &index) }
        do {
            return try header.take(bytes, from: &index) ? .header : .incomplete
        } catch {
            throw fail(error)
        }
    }

    private mutating func takeText(_ bytes: Span<UInt8>, from index: inout Int) -> Part {
        while index < bytes.count, text.count < textLength {
            text.append(bytes[index])
            index += 1
        }
        return text.count == textLength ? .text : .incomplete
    }

    /// Ends a header that a body of `length` bytes follows.
    @inline(__always)
    mutating func endHeader(bodyOf length: Int) {
        headerOffset &+= UInt64(header.byteCount)
        header.reset()
        (bodyLength, bodyRemaining) = (length, length)
    }

    /// Begins a text of `length` bytes behind a complete header.
    mutating func beginText(of length: Int) { textLength = length }

    /// Ends a text, and the header before it.
    mutating func endText() {
        headerOffset &+= UInt64(text.count)
        (text, textLength) = ([], 0)
        endHeader(bodyOf: 0)
    }

    /// Counts consumed bytes of the body, clamped to 0 and the number remaining; returns true if that ended the body.
    @inline(__always)
    mutating func consumeBody(_ count: Int) -> Bool {
        let count = min(max(count, 0), bodyRemaining)
        guard count > 0 else { return false }
        bodyRemaining -= count
        headerOffset &+= UInt64(count)
        return bodyRemaining == 0
    }

    /// Records a fault, and returns the error, which is permanent; its index counts from the beginning of the header.
    @inline(never)
    mutating func fail(_ fault: HeaderFault) -> WireError {
        let offset = headerOffset &+ UInt64(fault.index)
        let error = WireError(code: fault.code, byteOffset: offset, detail: fault.detail ?? "")
        failure = error
        bodyRemaining = 0
        return error
    }

    /// Marks the end of the stream: an error unless it is between messages.
    mutating func finish() throws(WireError) {
        if let failure { throw failure }
        if bodyRemaining > 0 { throw fail(truncatedBody(bodyLength - bodyRemaining, bodyLength, at: 0)) }
        let byteCount = header.byteCount
        guard byteCount > 0 else { return }
        if textLength > 0 {
            var info = ControlRequest.SessionInfo()
            let fault = info.read(text, behind: header, isWhole: false)
            throw fail(fault ?? truncatedBody(text.count, textLength, at: byteCount + text.count))
        }
        do {
            try header.finish()
        } catch {
            throw fail(error)
        }
    }

    private func truncatedBody(_ count: Int, _ length: Int, at index: Int) -> HeaderFault {
        HeaderFault(.bodyTruncated, at: index, detail: "\(count) of \(length) bytes")
    }
}
