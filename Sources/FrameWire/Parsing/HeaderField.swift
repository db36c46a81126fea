/// The fields that have a meaning in messages or requests; every other one is skipped.
///
/// To add a field, add a case, its entry in ``definition``, and a line in the `code(with:)` of whatever has it, which
/// reads and writes it. The order of the cases is the one in which missing fields are reported.
package enum HeaderField: Int, CaseIterable, Sendable {
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

    /// The name on the wire, of 8 to 24 bytes: no other name is compared.
    package var name: String { definition.name }

    /// The words that the field may have; none if it has a number.
    package var words: [String] { if case .word(let words, _) = definition.value { words } else { [] } }

    /// The field's bit in a set of fields; there are fewer than 64.
    @inline(__always)
    var bit: UInt64 { 1 &<< UInt64(truncatingIfNeeded: rawValue) }

    /// The bits of the fields that determine where the next header begins.
    static var framing: UInt64 { contentLength.bit | transferEncoding.bit }

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

    /// The numbers that the field may have, with the decoder's limits.
    func range(_ limits: FrameMessageDecoder.Limits) -> (minimum: UInt64, maximum: UInt64) {
        switch self {
        case .number(let range): (UInt64(clamping: range.lowerBound), UInt64(clamping: range.upperBound))
        case .limited(let minimum, let limit):
            (minimum, UInt64(clamping: min(limits[keyPath: limit], Self.largestLimit)))
        case .any, .word, .refused: (0, .max)
        }
    }
}

/// The names and words of every field, which all parsers and writers share.
struct FieldTable: Sendable {
    private struct Entry: Sendable {
        let field: HeaderField
        let name: NameKey
    }

    private var entries: [Entry] = []
    /// The indices of entries at the places that their names give them, or behind those if they are taken.
    private var places = [UInt8](repeating: .max, count: 256)
    /// The bits of the fields that have words, any word, or none.
    private(set) var words: UInt64 = 0, open: UInt64 = 0, refused: UInt64 = 0
    /// The words, by the fields' raw values.
    private let wordLists: [[[UInt8]]]
    /// What precedes the value of each field in a header, one after another, and where each ends.
    private(set) var beginnings: [UInt8] = []
    private var ends: [Int] = [0]

    init() {
        let fields = HeaderField.allCases
        wordLists = fields.map { $0.words.map { Array($0.utf8) } }
        for field in fields {
            let (name, value) = field.definition
            beginnings += "\r\n\(name): ".utf8
            ends.append(beginnings.count)
            if case .refused = value { refused |= field.bit }
            if case .word(_, let isOpen) = value {
                words |= field.bit
                open |= isOpen ? field.bit : 0
            }
            let bytes = Array(name.utf8)[...]
            guard let key = NameKey(bytes.span, from: 0, to: bytes.count) else { continue }
            var place = key.place
            while places[place] != .max { place = (place + 1) & 0xFF }
            places[place] = UInt8(clamping: entries.count)
            entries.append(Entry(field: field, name: key))
        }
    }

    /// The place of a field in ``beginnings``.
    func beginning(of field: HeaderField) -> Range<Int> { ends[field.rawValue]..<ends[field.rawValue + 1] }

    /// Returns the word of a field that a value stands for.
    func word(_ value: UInt64, of field: HeaderField) -> [UInt8] {
        wordLists[field.rawValue].dropFirst(Int(clamping: value)).first ?? []
    }

    /// Returns the place of a word among those of a field; nil if it is not one of them.
    func place(of word: Span<UInt8>, in field: HeaderField) -> UInt64? {
        wordLists[field.rawValue].firstIndex { word.isEqual(to: $0) }.map { UInt64(clamping: $0) }
    }

    /// Returns the field with the name from `start` to `end`, ignoring case; nil if there is none.
    @inline(__always)
    func field(named bytes: Span<UInt8>, from start: Int, to end: Int) -> HeaderField? {
        guard let key = NameKey(bytes, from: start, to: end) else { return nil }
        var place = key.place
        while places[place] != .max {
            let entry = entries[Int(places[place])]
            let difference = key.difference(from: entry.name)
            if difference & ~NameKey.cases == 0 {
                // The bit that tells cases apart also turns `-` into a carriage return, and digits into control bytes.
                return difference == 0 || bytes.isToken(from: start, to: end) ? entry.field : nil
            }
            place = (place + 1) & 0xFF
        }
        return nil
    }
}

/// A name of 8 to 24 bytes as three words that overlap, and its length, for comparing it at once.
private struct NameKey: Sendable {
    /// The bit of each byte that differs between the cases of a letter.
    static var cases: UInt64 { 0x2020_2020_2020_2020 }

    private let first, middle, last, count: UInt64

    @inline(__always)
    init?(_ bytes: Span<UInt8>, from start: Int, to end: Int) {
        let count = end - start
        guard count >= 8, count <= 24 else { return nil }
        self.count = UInt64(truncatingIfNeeded: count)
        first = bytes.word(at: start)
        middle = bytes.word(at: start + min(8, count - 8))
        last = bytes.word(at: end - 8)
    }

    /// A number below 256 that does not depend on the case of letters.
    @inline(__always)
    var place: Int {
        let letters = ((first | Self.cases) &* 31) ^ (last | Self.cases)
        return Int(truncatingIfNeeded: ((letters &+ count) &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }

    @inline(__always)
    func difference(from other: Self) -> UInt64 {
        (first ^ other.first) | (middle ^ other.middle) | (last ^ other.last) | (count ^ other.count) << 8
    }
}

/// The values of one header's fields, as which a message or request is read.
///
/// Every value is a number; that of a word is its index among the words of its field.
struct HeaderFields: Sendable, FieldCoder {
    /// By the fields' raw values.
    private var values = [UInt64](repeating: 0, count: HeaderField.allCases.count)

    /// A bit for each field that has occurred.
    private(set) var seen: UInt64 = 0

    /// A bit for each field that has not, although what has been read needs it.
    private(set) var missing: UInt64 = 0

    /// Whether a field has occurred.
    @inline(__always)
    func has(_ field: HeaderField) -> Bool { seen & field.bit != 0 }

    /// The value of a field, if it occurred.
    @inline(__always)
    subscript(field: HeaderField) -> UInt64? { has(field) ? values[field.rawValue] : nil }

    /// The length of the body; 0 if it is missing.
    @inline(__always)
    var contentLength: Int { Int(clamping: self[.contentLength] ?? 0) }

    @inline(__always)
    mutating func store(_ value: UInt64, in field: HeaderField) {
        seen |= field.bit
        values[field.rawValue] = value
    }

    @inline(__always)
    package mutating func code(_ field: HeaderField, _ value: inout UInt64?) { value = self[field] }

    @inline(__always)
    package mutating func miss(_ field: HeaderField) { missing |= field.bit }

    /// Prepares for the next header.
    @inline(__always)
    mutating func reset() { (seen, missing) = (0, 0) }

    /// Throws `field.missing` for the first field that is missing.
    @inline(__always)
    func checkMissing() throws(HeaderFault) {
        guard missing == 0 else { throw missingFault }
    }

    @inline(never)
    private var missingFault: HeaderFault {
        HeaderFault(.fieldMissing, detail: HeaderField(rawValue: missing.trailingZeroBitCount)?.name ?? "")
    }
}
