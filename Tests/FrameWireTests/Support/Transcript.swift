import FrameWire
import TestSupport
import Testing

/// Everything that came out of a decoder fed with a stream, however the stream was cut.
struct Transcript: Equatable, Sendable {
    /// What a stream consists of.
    enum Kind: Sendable, CaseIterable {
        case messages, requests
    }

    enum Item: Equatable, Sendable {
        case message(FrameMessageDecoder.Message)
        case request(ControlRequest)
        case release(buffer: Int)
        case discarded
        case skipped(isPreference: Bool)
    }

    struct Entry: Equatable, Sendable {
        var item: Item
        /// That of a message.
        var body: [UInt8] = []
        var isComplete: Bool

        /// The header, which must be a frame's.
        var header: FrameHeader? { if case .message(.frame(let header)) = item { header } else { nil } }
    }

    var entries: [Entry] = []
    var error: WireError?
    var offset: UInt64 = 0

    var items: [Item] { entries.map(\.item) }
    var areAllComplete: Bool { entries.allSatisfy(\.isComplete) }

    /// Feeds `bytes`, cut before each index of `cuts`, then the end of the stream unless `isOpen`.
    init(
        of bytes: [UInt8],
        _ kind: Kind = .messages,
        cutBefore cuts: [Int] = [],
        limits: FrameMessageDecoder.Limits? = nil,
        isOpen: Bool = false
    ) {
        switch kind {
        case .messages:
            var decoder = FrameMessageDecoder(limits: limits ?? .init())
            read(bytes, cuts, by: &decoder)
            do throws(WireError) {
                if error == nil, !isOpen { try decoder.finish() }
            } catch {
                self.error = error
            }
            require(decoder.offset == error?.byteOffset ?? offset, "the offset counts what was consumed")
        case .requests:
            var decoder = ControlDecoder(limits: limits ?? ControlDecoder.defaultLimits)
            read(bytes, cuts, by: &decoder)
        }
        offset = error?.byteOffset ?? offset
    }

    private mutating func read(_ bytes: [UInt8], _ cuts: [Int], by decoder: inout some StreamDecoder) {
        do throws(WireError) {
            var start = 0
            for end in cuts + [bytes.count] {
                while start < end {
                    let part = try decoder.part(of: bytes.span.extracting(start..<end))
                    add(part.content, bytes[start..<(start + part.consumed)])
                    start += part.consumed
                    require(part.content != .incomplete || start == end, "what is incomplete takes every byte")
                    offset = UInt64(start)
                }
            }
        } catch {
            self.error = error
        }
    }

    private mutating func add(_ content: PartContent, _ bytes: ArraySlice<UInt8>) {
        switch content {
        case .incomplete: break
        case .item(let item, let isComplete):
            require(areAllComplete, "no header within a body")
            entries.append(Entry(item: item, isComplete: isComplete))
        case .body(let isLast):
            require(!bytes.isEmpty, "a body has bytes")
            guard let last = entries.indices.last else { return require(false, "a body without a header") }
            entries[last].body += bytes
            entries[last].isComplete = isLast
        }
    }
}

/// What one call of a decoder has consumed.
enum PartContent: Equatable {
    case incomplete
    /// The header of an item, which is complete unless its body follows.
    case item(Transcript.Item, isComplete: Bool = true)
    case body(isLast: Bool)
}

/// A decoder of messages or of requests.
protocol StreamDecoder {
    mutating func part(of bytes: Span<UInt8>) throws(WireError) -> (consumed: Int, content: PartContent)
}

extension FrameMessageDecoder: StreamDecoder {
    mutating func part(of bytes: Span<UInt8>) throws(WireError) -> (consumed: Int, content: PartContent) {
        let step = try decode(bytes)
        switch step.event {
        case .incomplete: return (step.consumed, .incomplete)
        case .message(let message): return (step.consumed, .item(.message(message), isComplete: bodyRemaining == 0))
        case .body(let isLast): return (step.consumed, .body(isLast: isLast))
        }
    }
}

extension ControlDecoder: StreamDecoder {
    mutating func part(of bytes: Span<UInt8>) throws(WireError) -> (consumed: Int, content: PartContent) {
        let step = try decode(bytes)
        switch step.event {
        case .incomplete: return (step.consumed, .incomplete)
        case .request(let request): return (step.consumed, .item(.request(request)))
        case .release(let buffer): return (step.consumed, .item(.release(buffer: buffer)))
        case .discarded: return (step.consumed, .item(.discarded))
        case .skipped(let isPreference): return (step.consumed, .item(.skipped(isPreference: isPreference)))
        }
    }
}

/// Returns what comes out of `bytes` as a whole, having made sure that no way of cutting them makes a difference, and
/// that an error comes when it is due.
func transcript(
    ofEverySplitOf bytes: [UInt8],
    _ kind: Transcript.Kind = .messages,
    limits: FrameMessageDecoder.Limits? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) -> Transcript {
    let whole = Transcript(of: bytes, kind, limits: limits)
    // Long streams are cut everywhere in their first and last part, and at steps between.
    let every = 600
    let indices =
        bytes.count <= 2 * every
        ? Array(0...bytes.count)
        : Array(0..<every) + Array(stride(from: every, to: bytes.count - every, by: bytes.count / 50))
            + Array((bytes.count - every)...bytes.count)
    let due = whole.error.map { dueCount(of: $0, in: bytes) } ?? .max
    for index in indices {
        let split = Transcript(of: bytes, kind, cutBefore: [index], limits: limits)
        require(split == whole, "cut before byte \(index)", sourceLocation)
        let prefix = Transcript(of: Array(bytes.prefix(index)), kind, limits: limits, isOpen: true)
        let isError = prefix.error == whole.error && (whole.error?.byteOffset ?? 0) < UInt64(index)
        require(
            isError || (prefix.error == nil && index < due),
            "the error of the first \(index) bytes",
            sourceLocation
        )
        let isBeginning =
            prefix.entries.count <= whole.entries.count
            && zip(prefix.entries, whole.entries).allSatisfy { $0.item == $1.item && $1.body.starts(with: $0.body) }
        require(isBeginning, "the items of the first \(index) bytes", sourceLocation)
    }
    let bytewise = Transcript(of: bytes, kind, cutBefore: Array(bytes.indices), limits: limits)
    require(bytewise == whole, "byte by byte", sourceLocation)
    for seed in UInt64(1)...5 {
        var random = SplitMix(seed: seed)
        var cuts: [Int] = []
        var cut = 0
        while cut < bytes.count {
            cuts.append(cut)
            cut += Int.random(in: 1...40, using: &random)
        }
        let split = Transcript(of: bytes, kind, cutBefore: cuts, limits: limits)
        require(split == whole, "random cuts of seed \(seed)", sourceLocation)
    }
    return whole
}

/// The number of bytes with which an error must be reported: a wrong start line and a header over the limit at once,
/// another line when it is complete, an `info` at its end.
private func dueCount(of error: WireError, in bytes: [UInt8]) -> Int {
    let offset = Int(error.byteOffset ?? 0)
    switch error.code {
    case .startLineMalformed, .requestLineMalformed, .headTooLong: return offset + 1
    case .infoInvalid: return .max
    default: return bytes[min(offset, bytes.count)...].firstIndex(of: 0x0A).map { $0 + 1 } ?? .max
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
