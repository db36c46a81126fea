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
/// case .release(let release): note(release)     // likewise
/// case .discarded, .skipped: break              // likewise
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
        /// The same, of `discarded`: the receiver ends, and has not taken everything that it has read.
        case discarded
        /// The header of a request that is not understood, or its remaining part; a body may follow.
        ///
        /// It is unknown, or a field that it needs is invalid, duplicated or missing. Preferences of that kind are refused.
        case skipped(isPreference: Bool)
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

    /// The number of bytes of the current body that are still to come; 0 outside a body.
    package var bodyRemaining: Int { stream.bodyRemaining }

    /// The number of bytes of the stream consumed so far; after an error, the number before the wrong byte.
    package var offset: UInt64 { stream.offset }

    /// Whether part of a header, or of an `info`, has arrived, but not all of it.
    package var isInHeader: Bool { stream.isInHeader }

    /// Consumes bytes from the front of `bytes`, up to the end of the header or body that they belong to.
    ///
    /// An empty span yields `.incomplete` and consumes nothing.
    ///
    /// - Throws: An error for the first wrong byte, as ``FrameMessageDecoder/decode(_:)`` does: a malformed request, a
    ///   missing or invalid `Content-Length`, or a header over the limits. The failure is permanent: every later call
    ///   throws the same error. A well-formed request that is not understood is not an error but ``Event/skipped(isPreference:)``.
    ///   This method does not detect the end of the stream; see ``finish()``.
    package mutating func decode(_ bytes: Span<UInt8>) throws(WireError) -> Step {
        var index = 0
        while true {
            switch try stream.next(bytes, from: &index) {
            case .incomplete: return Step(consumed: index, event: .incomplete)
            case .body: return Step(consumed: index, event: .body(isLast: stream.bodyRemaining == 0))
            case .header:
                if let event = try endHeader() { return Step(consumed: index, event: event) }
            case .text:
                let event = endText()
                return Step(consumed: index, event: event)
            }
        }
    }

    /// Ends a header; nil if it is that of an `info`, whose body follows.
    private mutating func endHeader() throws(WireError) -> Event? {
        guard let length = stream.header.fields[count: .contentLength] else {
            let name = HeaderField.contentLength.definition.name
            throw stream.fail(HeaderFault(.fieldMissing, at: stream.header.byteCount - 1, detail: name))
        }
        var event = event
        switch event {
        case .request(.info) where skipsInfo: (event, skipsInfo) = (skipped, false)
        case .request(.info) where length > 0:
            stream.beginText(of: length)
            return nil
        case .skipped where stream.header.request == .info: skipsInfo = true
        case .request, .release, .discarded, .skipped, .incomplete, .body: break
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

    /// What a complete header is.
    private var event: Event {
        guard let request = stream.header.request, !stream.header.isInvalid else { return skipped }
        return stream.header.fields.event(request) ?? skipped
    }

    private var skipped: Event { .skipped(isPreference: stream.header.request == .prefer) }

    /// Marks the end of the stream.
    ///
    /// Between requests, and before the first one, the end is an orderly close and has no effect.
    ///
    /// - Throws: `headTruncated` or `bodyTruncated` within a request, unless that is wrong already, or the error
    ///   with which the stream failed earlier.
    package mutating func finish() throws(WireError) { try stream.finish() }
}

/// The names that request lines of this version have: those of a ``ControlRequest``, and of what connections say themselves.
///
/// The compiler does not compare them with ``ControlRequest/name``: a request without a case here is written, and skipped by
/// the sender that reads it.
enum ControlName: String, CaseIterable {
    case hello, pause, resume, stop, prefer, refresh, ping, release, decline, info, discarded

    private static let names = allCases.map { Array($0.rawValue.utf8) }

    /// Returns the request with a name; nil if there is none.
    static func named(_ name: Span<UInt8>) -> Self? {
        for place in names.indices
        where names[place].count == name.count && name.indices.allSatisfy({ names[place][$0] == name[$0] }) {
            return allCases[place]
        }
        return nil
    }

    /// The bits of the fields that have a meaning in this request; every other one is skipped.
    var fields: UInt64 {
        switch self {
        case .hello: HeaderField.bits([.version, .wantsPictures, .wantsAudio, .sharedMemory, .wantsInfo])
        case .stop: HeaderField.finishReason.bit
        case .prefer:
            HeaderField.bits([.preferredFrameRate, .preferredWidth, .preferredHeight, .quality, .byteRate])
        case .ping: HeaderField.ping.bit
        case .release: HeaderField.sharedBuffer.bit
        case .info: HeaderField.infoContinues.bit
        case .pause, .resume, .refresh, .decline, .discarded: 0
        }
    }
}

// What the fields of a complete request mean.
extension HeaderFields {
    /// Returns the request with this name that the fields describe; nil if a required field is missing.
    fileprivate func event(_ name: ControlName) -> ControlDecoder.Event? {
        switch name {
        case .hello: hello.map { .request(.hello($0)) }
        case .pause: .request(.pause)
        case .resume: .request(.resume)
        case .stop:
            self[count: .finishReason].flatMap(ControlRequest.FinishReason.init(rawValue:)).map {
                .request(.stop($0))
            }
        case .prefer: preferences.map { .request(.prefer($0)) }
        case .refresh: .request(.refresh)
        case .ping: self[.ping].map { .request(.ping($0)) }
        case .release: self[count: .sharedBuffer].map { .release(ReleaseRequest(buffer: $0)) }
        case .decline: .request(.decline)
        case .discarded: .discarded
        // Its values are in the body.
        case .info: .request(.info(ControlRequest.SessionInfo()))
        }
    }

    private var hello: ControlRequest.Hello? {
        guard let version = self[count: .version] else { return nil }
        var wants: ControlRequest.Wants = []
        if self[.wantsPictures] == 1 { wants.insert(.frames) }
        if self[.wantsAudio] == 1 { wants.insert(.audio) }
        return ControlRequest.Hello(
            version: version,
            wants: wants,
            sharedMemory: self[count: .sharedMemory],
            wantsInfo: self[.wantsInfo] == 1
        )
    }

    private var preferences: ControlRequest.Preferences? {
        var size: BufferSize?
        switch (self[count: .preferredWidth], self[count: .preferredHeight]) {
        case (nil, nil): break
        case (let width?, let height?): size = BufferSize(width: width, height: height)
        default: return nil
        }
        return ControlRequest.Preferences(
            frameRateInMillihertz: self[count: .preferredFrameRate],
            size: size,
            quality: self[count: .quality],
            byteRate: self[count: .byteRate]
        )
    }
}
