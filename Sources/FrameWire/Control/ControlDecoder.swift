/// Splits what a receiver writes to its sender into requests.
///
/// This is a pure state machine: it does no I/O and never waits. Feed it the bytes that have arrived, in pieces of any
/// size. How the bytes are split affects neither the events nor which error is thrown for which byte. The decoder stores
/// at most one line of a header that arrives in pieces, and of a body only the values of an `info`.
///
/// ```swift
/// var decoder = ControlDecoder()
/// let step = try decoder.decode(bytes.span)
/// switch step.event {
/// case .incomplete: break                       // read more
/// case .request(let request): prepare(request)  // go on behind step.consumed
/// case .release(let buffer): note(buffer)       // likewise
/// case .discarded, .skipped: break              // likewise
/// }
/// ```
package struct ControlDecoder: Sendable {
    /// What the consumed bytes were.
    package enum Event: Sendable, Hashable {
        /// Part of a request, or of a body that is ignored; all bytes are consumed, and more are needed.
        case incomplete
        /// The header of a request, or its remaining part; that of an `info` with its body.
        case request(ControlRequest)
        /// The same, of the release of a shared buffer.
        case release(buffer: Int)
        /// The same, of `discarded`: the receiver ends, and has not taken everything that it has read.
        case discarded
        /// The header of a request that is not understood, or its remaining part.
        ///
        /// It is unknown, or a field that it needs is invalid, duplicated or missing. Preferences of that kind are refused.
        case skipped(isPreference: Bool)
    }

    private var stream: StreamReader
    /// Whether the next `info` is the rest of one that an earlier version has divided, which is skipped.
    private var skipsInfo = false

    /// The upper bounds that a decoder enforces on a receiver: 2,048 bytes and 16 fields of a header, 4,096 bytes of a
    /// body.
    package static let defaultLimits = {
        var limits = FrameMessageDecoder.Limits()
        (limits.maximumHeaderBytes, limits.maximumFields, limits.maximumContentLength) = (2_048, 16, 4_096)
        return limits
    }()

    /// Creates a decoder at the first byte of a stream.
    package init(limits: FrameMessageDecoder.Limits = defaultLimits) {
        stream = StreamReader(.request, limits: limits)
    }

    /// Consumes bytes from the front of `bytes`, up to the end of the next header, or of its `info`.
    ///
    /// An empty span yields `.incomplete` and consumes nothing.
    ///
    /// - Returns: The number of bytes consumed, and what they were.
    /// - Throws: An error for the first wrong byte, as ``FrameMessageDecoder/decode(_:)`` does: a malformed request, a
    ///   missing or invalid `Content-Length`, or a header over the limits. The failure is permanent: every later call
    ///   throws the same error. A well-formed request that is not understood is not an error but ``Event/skipped(isPreference:)``.
    package mutating func decode(_ bytes: Span<UInt8>) throws(WireError) -> (consumed: Int, event: Event) {
        var index = 0
        while true {
            switch try stream.next(bytes, from: &index) {
            case .incomplete: return (index, .incomplete)
            case .body: continue
            case .header:
                if let event = try endHeader() { return (index, event) }
            case .text: return (index, endText())
            }
        }
    }

    /// Ends a header; nil if it is that of an `info`, whose body follows.
    private mutating func endHeader() throws(WireError) -> Event? {
        guard stream.header.fields.has(.contentLength) else {
            let name = HeaderField.contentLength.name
            throw stream.fail(HeaderFault(.fieldMissing, at: stream.header.byteCount - 1, detail: name))
        }
        let length = stream.header.fields.contentLength
        var event = stream.header.request.map { Event($0, from: &stream.header.fields) } ?? skipped
        if stream.header.isInvalid || stream.header.fields.missing != 0 { event = skipped }
        switch event {
        case .request(.info) where skipsInfo: (event, skipsInfo) = (skipped, false)
        case .request(.info) where length > 0:
            stream.beginText(of: length)
            return nil
        case .skipped where stream.header.request == .info: skipsInfo = true
        case .request, .release, .discarded, .skipped, .incomplete: break
        }
        stream.endHeader(bodyOf: length)
        return event
    }

    /// Ends the body of an `info`.
    private mutating func endText() -> Event {
        var info = ControlRequest.SessionInfo()
        let event: Event = info.read(stream.text, behind: stream.header) == nil ? .request(.info(info)) : skipped
        stream.endText()
        return event
    }

    private var skipped: Event { .skipped(isPreference: stream.header.request == .prefer) }
}

extension ControlName {
    private static let names = allCases.map { Array($0.rawValue.utf8) }
    private static let fields = allCases.map { name in
        var set = FieldSet()
        _ = ControlDecoder.Event(name, from: &set)
        return set.bits
    }

    /// Returns the request with a name, and the bits of the fields that have a meaning in it; nil if there is none.
    static func named(_ name: Span<UInt8>) -> (name: Self, fields: UInt64)? {
        guard let place = names.firstIndex(where: { name.isEqual(to: $0) }) else { return nil }
        return (allCases[place], fields[place])
    }
}

extension ControlDecoder.Event {
    /// Reads the fields of a request behind its length.
    fileprivate init(_ name: ControlName, from coder: inout some FieldCoder) {
        switch name {
        case .hello: self = .request(.hello(coder.read(ControlRequest.Hello())))
        case .pause: self = .request(.pause)
        case .resume: self = .request(.resume)
        case .stop: self = .request(.stop(coder.read(.error)))
        case .prefer: self = .request(.prefer(coder.read(ControlRequest.Preferences())))
        case .refresh: self = .request(.refresh)
        case .ping:
            var number: UInt64 = 0
            coder.code(.ping, &number)
            self = .request(.ping(number))
        case .release:
            var buffer = 0
            coder.code(.sharedBuffer, &buffer)
            self = .release(buffer: buffer)
        case .decline: self = .request(.decline)
        case .info:
            // A receiver of an earlier version divides its values if they are many; this one writes no such field.
            var continues: Int?
            coder.code(.infoContinues, &continues)
            // Its values are in the body.
            self = .request(.info(ControlRequest.SessionInfo()))
        case .discarded: self = .discarded
        }
    }
}
