/// Collects what the fields of one head say, digit by digit, and holds it to the limits.
///
/// A value is a number; that of a word is its place among the words of its field.
struct HeadFields<Field: HeadField>: Sendable {
    /// How a value is read.
    private enum Rule: Sendable {
        case number(NumberRange)
        case word([String], isOpen: Bool)
        case refused
    }

    private let names: [String]
    private let rules: [Rule]
    private var values: [UInt64]

    /// A bit for each field that has occurred.
    private(set) var seen: UInt64 = 0

    /// The field whose value is being taken; nil within one that means nothing here.
    private(set) var current: Field?
    private var number = NumberReader()
    private var word = WordReader()

    init(maximumContentLength: Int, maximumDimension: Int = 0) {
        let definitions = Field.allCases.map(\.definition)
        names = definitions.map(\.name)
        values = Array(repeating: 0, count: definitions.count)
        rules = definitions.map { definition in
            switch definition.value {
            case .number(let range): .number(range)
            case .contentLength: .number(.init(.length, 0, NumberRange.maximum(of: maximumContentLength)))
            case .dimension: .number(.init(.dimension, 1, NumberRange.maximum(of: maximumDimension)))
            case .word(let words): .word(words, isOpen: false)
            case .openWord(let words): .word(words, isOpen: true)
            case .refused: .refused
            }
        }
    }

    /// The field of a name; nil for one without a meaning here.
    func field(named name: [UInt8]) -> Field? {
        names.firstIndex { ASCII.isSameName(name, $0) }.flatMap(Field.init(rawValue:))
    }

    /// Begins a field, at its colon; nil for one that means nothing here.
    mutating func begin(_ field: Field?) throws(HeadFault) {
        current = nil
        guard let field else { return }
        switch rules[field.rawValue] {
        case .refused: throw HeadFault(.fieldUnsupported)
        case .number(let range):
            guard !has(field) else { throw HeadFault(.fieldDuplicate) }
            number = NumberReader(within: range)
        case .word:
            guard !has(field) else { throw HeadFault(.fieldDuplicate) }
            word = WordReader()
        }
        current = field
    }

    /// Takes a byte of the value, from its first that is not white space on.
    mutating func take(_ byte: UInt8) throws(HeadFault) {
        guard let current else { return }
        if case .word = rules[current.rawValue] {
            try word.take(byte)
        } else {
            try number.take(byte)
        }
    }

    /// Ends the value, at the carriage return.
    mutating func endValue() throws(HeadFault) {
        guard let current else { return }
        switch rules[current.rawValue] {
        case .number: store(try number.end(), in: current)
        case .word(let words, let isOpen):
            let text = try word.end()
            guard let place = words.firstIndex(of: text) ?? (isOpen ? words.count : nil) else {
                throw HeadFault(.wordUnknown)
            }
            store(UInt64(clamping: place), in: current)
        case .refused: break
        }
    }

    /// Takes the rest of the current field for one that means nothing here.
    mutating func skipValue() {
        current = nil
    }

    /// Takes a field whose value is known to be a number; false, with nothing changed, if it may not stand here.
    @inline(__always)
    mutating func takeWhole(_ value: UInt64, in field: Field) -> Bool {
        guard !has(field), case .number(let range) = rules[field.rawValue], value >= range.minimum,
            value <= range.maximum
        else { return false }
        store(value, in: field)
        return true
    }

    /// Whether a field has occurred.
    @inline(__always)
    func has(_ field: Field) -> Bool { seen & field.bit != 0 }

    /// What a field said, if it occurred.
    @inline(__always)
    subscript(field: Field) -> UInt64? { has(field) ? values[field.rawValue] : nil }

    /// What a field said as a number for the API, if it occurred.
    @inline(__always)
    subscript(count field: Field) -> Int? { self[field].map { Int(clamping: $0) } }

    /// The name of a field.
    func name(of field: Field) -> String { names[field.rawValue] }

    /// Makes ready for the next head.
    @inline(__always)
    mutating func reset() {
        seen = 0
        current = nil
    }

    @inline(__always)
    private mutating func store(_ value: UInt64, in field: Field) {
        seen |= field.bit
        values[field.rawValue] = value
    }
}

extension HeadField {
    /// A bit of its own, for a set of fields: there are fewer than 64.
    @inline(__always)
    var bit: UInt64 { 1 << UInt64(truncatingIfNeeded: rawValue) }
}
