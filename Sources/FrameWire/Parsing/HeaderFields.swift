/// Collects the field values of one header, digit by digit, and enforces the limits.
///
/// Every value is a number; the value of a word is its index among the words of its field.
struct HeaderFields<Field: HeaderField>: Sendable {
    private let table: FieldTable<Field>
    /// The range of each field's numbers; empty for a field that is not a number.
    private let ranges: [NumberRange]
    private var values: [UInt64]

    /// A bit for each field that has occurred.
    private(set) var seen: UInt64 = 0

    /// The field whose value is being read; nil within a field that has no meaning here.
    private(set) var current: Field?
    private var number = NumberReader()
    private var word = WordReader()

    init(maximumContentLength: Int, maximumDimension: Int = 0) {
        table = Field.table
        values = Array(repeating: 0, count: table.definitions.count)
        ranges = table.definitions.map { definition in
            switch definition.value {
            case .number(let range): range
            case .contentLength: .init(.length, 0, NumberRange.maximum(of: maximumContentLength))
            case .dimension: .init(.dimension, 1, NumberRange.maximum(of: maximumDimension))
            case .word, .openWord, .refused: .none
            }
        }
    }

    /// Returns the field with a name; nil if it has no meaning here.
    func field(named name: [UInt8]) -> Field? { table.field(named: name) }

    /// Begins a field, at its colon; nil for a field that has no meaning here.
    mutating func begin(_ field: Field?) throws(HeaderFault) {
        current = nil
        guard let field else { return }
        guard table.refused & field.bit == 0 else { throw HeaderFault(.fieldUnsupported) }
        guard !has(field) else { throw HeaderFault(.fieldDuplicate) }
        current = field
        number = NumberReader(within: ranges[field.rawValue])
        word = WordReader()
    }

    /// Consumes a byte of the value, starting with the first one that is not white space.
    mutating func take(_ byte: UInt8) throws(HeaderFault) {
        guard let current else { return }
        if table.words[current.rawValue] == nil {
            try number.take(byte)
        } else {
            try word.take(byte)
        }
    }

    /// Ends the value, at the carriage return.
    mutating func endValue() throws(HeaderFault) {
        guard let current else { return }
        guard let words = table.words[current.rawValue] else { return store(try number.end(), in: current) }
        let text = try word.end()
        guard let place = words.words.firstIndex(of: text) ?? (words.isOpen ? words.words.count : nil) else {
            throw HeaderFault(.wordUnknown)
        }
        store(UInt64(clamping: place), in: current)
    }

    /// Ignores the rest of the current field, as if it had no meaning here.
    mutating func skipValue() {
        current = nil
    }

    /// Stores a field whose value is known to be a number; returns false, without a change, if it is not allowed here.
    @inline(__always)
    mutating func takeWhole(_ value: UInt64, in field: Field) -> Bool {
        let range = ranges[field.rawValue]
        guard !has(field), value >= range.minimum, value <= range.maximum else { return false }
        store(value, in: field)
        return true
    }

    /// Stores a field whose value is one of its words; returns false, without a change, if it is another, or not allowed
    /// here.
    mutating func takeWhole(word: Span<UInt8>, in field: Field) -> Bool {
        guard !has(field), let words = table.words[field.rawValue]?.words else { return false }
        for place in words.indices where word.isEqual(to: words[place]) {
            store(UInt64(clamping: place), in: field)
            return true
        }
        return false
    }

    /// Whether a field has occurred.
    @inline(__always)
    func has(_ field: Field) -> Bool { seen & field.bit != 0 }

    /// The value of a field, if it occurred.
    @inline(__always)
    subscript(field: Field) -> UInt64? { has(field) ? values[field.rawValue] : nil }

    /// The value of a field as a number for the API, if it occurred.
    @inline(__always)
    subscript(count field: Field) -> Int? { self[field].map { Int(clamping: $0) } }

    /// The name of a field.
    func name(of field: Field) -> String { table.definitions[field.rawValue].name }

    /// Prepares for the next header.
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

extension HeaderField {
    /// The field's bit in a set of fields; there are fewer than 64.
    @inline(__always)
    var bit: UInt64 { 1 << UInt64(truncatingIfNeeded: rawValue) }
}

extension Span<UInt8> {
    fileprivate func isEqual(to other: [UInt8]) -> Bool {
        count == other.count && indices.allSatisfy { self[$0] == other[$0] }
    }
}
