/// The fields that have a meaning in messages or requests; every other one is skipped.
///
/// To add a field, add a case and its entry in ``definition``; if messages have it, before `wantsPictures`. Its name must
/// have 8 to 24 bytes: one of any other length is skipped as unknown. `MessageFields` or `ControlDecoder` turns its value
/// into what a message or request says. The order of the cases is the one in which missing fields are reported.
enum HeaderField: Int, CaseIterable, Sendable {
    case contentLength, transferEncoding
    // Of messages.
    case messageType, sharedBuffer, width, height, orientation, audioKind, sampleRate, channels
    case state, version, finishReason, sharedBytes, sharedFormat
    case offset, stride, secondOffset, secondStride, thirdOffset, thirdStride, changedRow, changedRows
    case timestamp, sequence, pong, refusedPreferences, frameRate, offersAudio
    // Of requests.
    case wantsPictures, wantsAudio, sharedMemory, wantsInfo
    case preferredFrameRate, preferredWidth, preferredHeight, quality, byteRate, ping, infoContinues

    /// The field's name and the values that it may have.
    var definition: (name: String, value: FieldValue) {
        switch self {
        case .contentLength: ("Content-Length", .limited(minimum: 0, \.maximumContentLength))
        // It would frame the body in another way.
        case .transferEncoding: ("Transfer-Encoding", .refused)
        case .messageType: ("Message-Type", .word(MessageKind.allCases.map(\.rawValue), isOpen: true))
        case .sharedBuffer: ("Shared-Buffer", .number(SharedFrameHeader.Buffer.indices))
        case .width: ("Buffer-Width", .limited(minimum: 1, \.maximumDimension))
        case .height: ("Buffer-Height", .limited(minimum: 1, \.maximumDimension))
        case .orientation: ("Buffer-Orientation", .number(0...8))
        case .audioKind: ("Audio-Kind", .word(AudioKind.allCases.map(\.rawValue), isOpen: false))
        case .sampleRate: ("Audio-Sample-Rate", .number(AudioHeader.sampleRates))
        case .channels: ("Audio-Channels", .number(AudioHeader.channelCounts))
        case .state: ("Sender-State", .word(StateWord.allCases.map(\.rawValue), isOpen: false))
        case .version: ("Control-Version", .number(1...9_999))
        case .finishReason: ("Finish-Reason", .number(ControlRequest.FinishReason.codes))
        case .sharedBytes: ("Shared-Bytes", .number(SharedFrameHeader.Buffer.byteCounts))
        case .sharedFormat: ("Shared-Format", .word(PixelFormat.allCases.map(\.rawValue), isOpen: false))
        case .offset: ("Shared-Offset", .number(SharedFrameHeader.Buffer.offsets))
        case .stride: ("Shared-Stride", .number(SharedFrameHeader.Buffer.byteCounts))
        case .secondOffset: ("Shared-Offset-2", .number(SharedFrameHeader.Buffer.offsets))
        case .secondStride: ("Shared-Stride-2", .number(SharedFrameHeader.Buffer.byteCounts))
        case .thirdOffset: ("Shared-Offset-3", .number(SharedFrameHeader.Buffer.offsets))
        case .thirdStride: ("Shared-Stride-3", .number(SharedFrameHeader.Buffer.byteCounts))
        case .changedRow: ("Changed-Row", .number(0...65_535))
        case .changedRows: ("Changed-Rows", .number(0...65_535))
        case .timestamp: ("Buffer-Presentation-Time", .any)
        case .sequence: ("Buffer-Sequence", .any)
        case .pong: ("Pong-Number", .any)
        case .refusedPreferences: ("Refused-Preferences", .any)
        case .frameRate: ("Frame-Rate", .number(ControlRequest.SessionInfo.frameRates))
        case .offersAudio: ("Offers-Audio", .number(0...1))
        case .wantsPictures: ("Wants-Pictures", .number(0...1))
        case .wantsAudio: ("Wants-Audio", .number(0...1))
        case .sharedMemory: ("Shared-Memory", .number(1...9_999))
        case .wantsInfo: ("Wants-Info", .number(0...1))
        case .preferredFrameRate: ("Prefer-Frame-Rate", .number(1...1_000_000))
        case .preferredWidth: ("Prefer-Width", .number(1...16_384))
        case .preferredHeight: ("Prefer-Height", .number(1...16_384))
        case .quality: ("Prefer-Quality", .number(1...100))
        case .byteRate: ("Prefer-Byte-Rate", .number(1...FieldValue.largestLimit))
        case .ping: ("Ping-Number", .any)
        // A receiver of an earlier version divides its values if they are many: what has 1 is not all of them.
        case .infoContinues: ("Info-Continues", .number(0...0))
        }
    }

    /// The field's bit in a set of fields; there are fewer than 64.
    @inline(__always)
    var bit: UInt64 { 1 << UInt64(truncatingIfNeeded: rawValue) }

    /// The bits of several fields.
    static func bits(_ fields: [Self]) -> UInt64 { fields.reduce(0) { $0 | $1.bit } }

    /// The bits of the fields that determine where the next header begins.
    static var framing: UInt64 { contentLength.bit | transferEncoding.bit }

    /// The bits of the fields that have a meaning in messages.
    static let ofMessages = bits(allCases.filter { $0.rawValue < wantsPictures.rawValue })

    static let table = FieldTable()
}

/// The values that a field may have.
enum FieldValue: Sendable {
    /// A number in a range of the API's.
    case number(ClosedRange<Int>)
    /// A number from a minimum up to a limit, of at most 10 digits.
    case limited(minimum: UInt64, any KeyPath<FrameMessageDecoder.Limits, Int> & Sendable)
    /// Every 64-bit number: a timestamp, or a counter.
    case any
    /// One of these words, whose value is its index, or any other word if they are open, whose value is their number.
    case word([String], isOpen: Bool)
    /// None: the field must not occur.
    case refused

    /// The largest number of 10 digits, which is the most that any limit can be.
    static var largestLimit: Int { 9_999_999_999 }
}

/// The kinds of messages that `Message-Type` distinguishes; a frame has no such field.
enum MessageKind: String, CaseIterable {
    case audio, status, info
    case sharedBuffer = "shared-buffer"
    case sharedFrame = "shared-frame"
}

/// The states that `Sender-State` distinguishes.
enum StateWord: String, CaseIterable {
    case live, paused, stopped
}

/// The names and words of every field, which all parsers share.
struct FieldTable: Sendable {
    private struct Entry: Sendable {
        let field: HeaderField
        let name: NameKey
    }

    /// By the number of bytes of their names.
    private let entries: [[Entry]]
    /// The bits of the fields that have words, and of those that must not occur.
    let words, refused: UInt64
    /// By the fields' raw values.
    private let wordLists: [(words: [[UInt8]], isOpen: Bool)]
    let values: [FieldValue]

    init() {
        values = HeaderField.allCases.map(\.definition.value)
        var entries: [[Entry]] = []
        var wordLists: [(words: [[UInt8]], isOpen: Bool)] = []
        var (words, refused): (UInt64, UInt64) = (0, 0)
        for field in HeaderField.allCases {
            let name = Array(field.definition.name.utf8)
            while entries.count <= name.count { entries.append([]) }
            let bytes = name[...]
            if let key = NameKey(bytes.span) { entries[name.count].append(Entry(field: field, name: key)) }
            wordLists.append(([], false))
            switch field.definition.value {
            case .word(let list, let isOpen):
                words |= field.bit
                wordLists[field.rawValue] = (list.map { Array($0.utf8) }, isOpen)
            case .refused: refused |= field.bit
            case .number, .limited, .any: break
            }
        }
        (self.entries, self.wordLists) = (entries, wordLists)
        (self.words, self.refused) = (words, refused)
    }

    /// Returns the value of a word of a field; nil if the field must not have it.
    func value(of word: Span<UInt8>, in field: HeaderField) -> UInt64? {
        let (words, isOpen) = wordLists[field.rawValue]
        for (place, other) in words.enumerated()
        where other.count == word.count && other.indices.allSatisfy({ other[$0] == word[$0] }) {
            return UInt64(clamping: place)
        }
        return isOpen ? UInt64(clamping: words.count) : nil
    }

    /// Returns the field with a name, ignoring case; nil if there is none.
    @inline(never)
    func field(named name: Span<UInt8>) -> HeaderField? {
        guard name.count < entries.count, let key = NameKey(name) else { return nil }
        for entry in entries[name.count] {
            let difference = key.difference(from: entry.name)
            guard difference & ~NameKey.cases == 0 else { continue }
            // The bit that tells cases apart also turns `-` into a carriage return, and digits into control bytes.
            return difference == 0 || name.indices.allSatisfy { ASCII.isToken(name[$0]) } ? entry.field : nil
        }
        return nil
    }
}

/// A name of 8 to 24 bytes as three words that overlap, for comparing it at once.
private struct NameKey: Sendable {
    /// The bit of each byte that differs between the cases of a letter.
    static var cases: UInt64 { 0x2020_2020_2020_2020 }

    private let first, middle, last: UInt64

    @inline(__always)
    init?(_ name: Span<UInt8>) {
        guard name.count >= 8, name.count <= 24 else { return nil }
        first = name.word(at: 0)
        middle = name.word(at: min(8, name.count - 8))
        last = name.word(at: name.count - 8)
    }

    @inline(__always)
    func difference(from other: Self) -> UInt64 {
        (first ^ other.first) | (middle ^ other.middle) | (last ^ other.last)
    }
}

/// The values of one header's fields.
///
/// Every value is a number; that of a word is its index among the words of its field.
struct HeaderFields: Sendable {
    /// By the fields' raw values.
    private var values = [UInt64](repeating: 0, count: HeaderField.allCases.count)

    /// A bit for each field that has occurred.
    private(set) var seen: UInt64 = 0

    /// Whether a field has occurred.
    @inline(__always)
    func has(_ field: HeaderField) -> Bool { seen & field.bit != 0 }

    /// The value of a field, if it occurred.
    @inline(__always)
    subscript(field: HeaderField) -> UInt64? { has(field) ? values[field.rawValue] : nil }

    /// The value of a field as a number for the API, if it occurred.
    @inline(__always)
    subscript(count field: HeaderField) -> Int? { self[field].map { Int(clamping: $0) } }

    /// A number for the API; 0 if the field is missing.
    @inline(__always)
    func number(_ field: HeaderField) -> Int { self[count: field] ?? 0 }

    /// The word of a field, if it occurred and is one of those that the field names.
    func word<Word: CaseIterable>(_ field: HeaderField) -> Word? where Word.AllCases == [Word] {
        guard let place = self[count: field], Word.allCases.indices.contains(place) else { return nil }
        return Word.allCases[place]
    }

    @inline(__always)
    mutating func store(_ value: UInt64, in field: HeaderField) {
        seen |= field.bit
        values[field.rawValue] = value
    }

    /// Prepares for the next header.
    @inline(__always)
    mutating func reset() { seen = 0 }

    /// Throws `field.missing` for the first field of a set that has not occurred.
    @inline(__always)
    func require(_ fields: UInt64) throws(HeaderFault) {
        let missing = fields & ~seen
        guard missing == 0 else { throw Self.missing(missing) }
    }

    @inline(never)
    private static func missing(_ fields: UInt64) -> HeaderFault {
        let name = HeaderField(rawValue: fields.trailingZeroBitCount)?.definition.name
        return HeaderFault(.fieldMissing, detail: name ?? "")
    }
}
