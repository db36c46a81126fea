import FrameWire
import Testing

/// Everything that came out of a decoder of requests fed with a stream, however the stream was cut.
struct ControlTranscript: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        /// A request or one that was skipped, never a part of a header nor of a body.
        var event: ControlDecoder.Event
        var bodyCount = 0
        var isComplete: Bool
    }

    var entries: [Entry] = []
    var error: WireError?
    var offset: UInt64 = 0

    var events: [ControlDecoder.Event] { entries.map(\.event) }

    var requests: [ControlRequest] {
        entries.compactMap { if case .request(let request) = $0.event { request } else { nil } }
    }

    var skipped: [SkippedRequest] {
        entries.compactMap { if case .skipped(let skipped) = $0.event { skipped } else { nil } }
    }

    /// Feeds `bytes`, cut before each index of `cuts`, then the end of the stream unless `isOpen`.
    init(of bytes: [UInt8], cutBefore cuts: [Int] = [], limits: ControlLimits = .init(), isOpen: Bool = false) {
        var decoder = ControlDecoder(limits: limits)
        do {
            try feedAll(bytes, cutBefore: cuts) { part throws(WireError) in try feed(bytes, part, into: &decoder) }
            if !isOpen { try decoder.finish() }
        } catch {
            self.error = error
        }
        offset = decoder.offset
    }

    /// Returns how many bytes of `part` were consumed.
    private mutating func feed(
        _ bytes: [UInt8],
        _ part: Range<Int>,
        into decoder: inout ControlDecoder
    ) throws(WireError) -> Int {
        let step = try decoder.decode(bytes.span.extracting(part))
        switch step.event {
        case .incomplete:
            require(step.consumed == part.count, "an incomplete header takes every byte")
        case .request, .release, .skipped:
            require(entries.last?.isComplete != false, "no header within a body")
            entries.append(Entry(event: step.event, isComplete: decoder.bodyRemaining == 0))
        case .body(let isLast):
            require(step.consumed > 0 && !entries.isEmpty, "a body has bytes, and a header before it")
            guard let last = entries.indices.last, step.consumed > 0 else { return part.count }
            entries[last].bodyCount += step.consumed
            entries[last].isComplete = isLast
        }
        require(decoder.offset == UInt64(part.lowerBound + step.consumed), "the offset counts what was consumed")
        return step.consumed
    }

    /// Whether this is what a shorter beginning of the same stream may give.
    fileprivate func isBeginning(of whole: Self) -> Bool {
        entries.count <= whole.entries.count
            && zip(entries, whole.entries).allSatisfy { $0.event == $1.event && $0.bodyCount <= $1.bodyCount }
    }
}

/// Returns what comes out of `bytes` as a whole, having made sure that no way of cutting them makes a difference, and
/// that an error comes with the very byte it names.
func controlTranscript(
    ofEverySplitOf bytes: [UInt8],
    limits: ControlLimits = .init(),
    sourceLocation: SourceLocation = #_sourceLocation
) -> ControlTranscript {
    let whole = ControlTranscript(of: bytes, limits: limits)
    for index in 0...bytes.count {
        let split = ControlTranscript(of: bytes, cutBefore: [index], limits: limits)
        require(split == whole, "cut before byte \(index)", sourceLocation)
        let prefix = ControlTranscript(of: Array(bytes.prefix(index)), limits: limits, isOpen: true)
        let expected = whole.error.flatMap { ($0.byteOffset ?? 0) < UInt64(index) ? $0 : nil }
        let isBeginning = prefix.error == expected && prefix.isBeginning(of: whole)
        require(isBeginning, "the first \(index) bytes", sourceLocation)
    }
    let bytewise = ControlTranscript(of: bytes, cutBefore: Array(bytes.indices), limits: limits)
    require(bytewise == whole, "byte by byte", sourceLocation)
    return whole
}
