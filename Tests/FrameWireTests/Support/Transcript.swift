import FrameWire
import TestSupport
import Testing

/// Everything that came out of a decoder fed with a stream, however the stream was cut.
struct Transcript: Equatable, Sendable {
    struct Message: Equatable, Sendable {
        var kind: FrameMessageDecoder.Message
        var body: [UInt8] = []
        var isComplete: Bool

        /// The header, which must be a frame's.
        var header: FrameHeader? { if case .frame(let header) = kind { header } else { nil } }
    }

    var messages: [Message] = []
    var error: WireError?
    var offset: UInt64 = 0

    var areAllComplete: Bool { messages.allSatisfy(\.isComplete) }

    /// Feeds `bytes`, cut before each index of `cuts`, then the end of the stream unless `isOpen`.
    init(
        of bytes: [UInt8],
        cutBefore cuts: [Int] = [],
        limits: FrameMessageDecoder.Limits = .init(),
        isOpen: Bool = false
    ) {
        var decoder = FrameMessageDecoder(limits: limits)
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
        into decoder: inout FrameMessageDecoder
    ) throws(WireError) -> Int {
        let step = try decoder.decode(bytes.span.extracting(part))
        switch step.event {
        case .incomplete:
            require(step.consumed == part.count, "an incomplete header takes every byte")
        case .message(let kind):
            require(messages.last?.isComplete != false, "no header within a body")
            messages.append(Message(kind: kind, isComplete: decoder.bodyRemaining == 0))
        case .body(let isLast):
            require(step.consumed > 0, "a body event without bytes never ends")
            guard !messages.isEmpty else {
                Issue.record("a body without a header")
                return part.count
            }
            messages[messages.count - 1].body += bytes[part.prefix(step.consumed)]
            messages[messages.count - 1].isComplete = isLast
        }
        require(decoder.offset == UInt64(part.lowerBound + step.consumed), "the offset counts what was consumed")
        return step.consumed
    }
}

/// Returns what comes out of `bytes` as a whole, having made sure that no way of cutting them makes a difference, and
/// that an error comes with the very byte it names.
func transcript(
    ofEverySplitOf bytes: [UInt8],
    limits: FrameMessageDecoder.Limits = .init(),
    sourceLocation: SourceLocation = #_sourceLocation
) -> Transcript {
    let whole = Transcript(of: bytes, limits: limits)
    // Long streams are cut everywhere in their first and last part, and at steps between.
    let every = 600
    let indices =
        bytes.count <= 2 * every
        ? Array(0...bytes.count)
        : Array(0..<every) + Array(stride(from: every, to: bytes.count - every, by: bytes.count / 50))
            + Array((bytes.count - every)...bytes.count)
    for index in indices {
        let split = Transcript(of: bytes, cutBefore: [index], limits: limits)
        require(split == whole, "cut before byte \(index)", sourceLocation)
        expectPrefix(index, of: bytes, agreesWith: whole, limits: limits, sourceLocation: sourceLocation)
    }
    let bytewise = Transcript(of: bytes, cutBefore: Array(bytes.indices), limits: limits)
    require(bytewise == whole, "byte by byte", sourceLocation)
    for seed in UInt64(1)...5 {
        var random = SplitMix(seed: seed)
        var cuts: [Int] = []
        var cut = 0
        while cut < bytes.count {
            cuts.append(cut)
            cut += Int.random(in: 1...40, using: &random)
        }
        let split = Transcript(of: bytes, cutBefore: cuts, limits: limits)
        require(split == whole, "random cuts of seed \(seed)", sourceLocation)
    }
    return whole
}

/// A prefix gives the beginning of what the whole gives, and an error exactly if it reaches the wrong byte.
private func expectPrefix(
    _ count: Int,
    of bytes: [UInt8],
    agreesWith whole: Transcript,
    limits: FrameMessageDecoder.Limits,
    sourceLocation: SourceLocation
) {
    let prefix = Transcript(of: Array(bytes.prefix(count)), limits: limits, isOpen: true)
    let expected = whole.error.flatMap { ($0.byteOffset ?? 0) < UInt64(count) ? $0 : nil }
    require(prefix.error == expected, "the error of the first \(count) bytes", sourceLocation)
    require(prefix.messages.count <= whole.messages.count, "the messages of the first \(count) bytes", sourceLocation)
    for (part, message) in zip(prefix.messages, whole.messages) {
        let isPrefix = part.kind == message.kind && part.body.elementsEqual(message.body.prefix(part.body.count))
        require(isPrefix, "a message of the first \(count) bytes", sourceLocation)
    }
}

/// Passes every byte to `feed`, in parts that end before each index of `cuts`; `feed` returns how many it has consumed.
func feedAll(
    _ bytes: [UInt8],
    cutBefore cuts: [Int],
    _ feed: (Range<Int>) throws(WireError) -> Int
) throws(WireError) {
    var start = 0
    for end in cuts + [bytes.count] {
        while start < end { start += try feed(start..<end) }
    }
}

/// Records an issue if `condition` is false: `#expect` captures its operands, which costs too much for millions of checks.
func require(
    _ condition: Bool,
    _ comment: @autoclosure () -> String,
    _ sourceLocation: SourceLocation = #_sourceLocation
) {
    if !condition { Issue.record(Comment(rawValue: comment()), sourceLocation: sourceLocation) }
}
