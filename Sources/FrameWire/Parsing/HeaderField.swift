/// A field that has a meaning in the headers of one direction.
///
/// To add a field, add a case and its entry in ``definition``.
protocol HeaderField: RawRepresentable<Int>, CaseIterable, Sendable {
    /// The field's name and values.
    var definition: FieldDefinition { get }

    /// The definitions of every field, which all headers share.
    static var table: FieldTable<Self> { get }
}

/// The definitions of every field of a kind of header.
struct FieldTable<Field: HeaderField>: Sendable {
    /// The words that a field may have.
    struct Words: Sendable {
        let words: [[UInt8]]
        /// Whether any other word is allowed as well.
        let isOpen: Bool
    }

    /// By the fields' raw values.
    let definitions: [FieldDefinition]
    /// The raw values of the fields whose name has a number of bytes, by that number.
    private let places: [[Int]]
    /// The words of each field; nil for a field that is not a word.
    let words: [Words?]
    /// A bit for each field that must not occur.
    let refused: UInt64

    init() {
        definitions = Field.allCases.map(\.definition)
        var places: [[Int]] = []
        for (place, definition) in definitions.enumerated() {
            let byteCount = definition.nameBytes.count
            while places.count <= byteCount { places.append([]) }
            places[byteCount].append(place)
        }
        self.places = places
        words = definitions.map { definition in
            switch definition.value {
            case .word(let words): Words(words: words.map { Array($0.utf8) }, isOpen: false)
            case .openWord(let words): Words(words: words.map { Array($0.utf8) }, isOpen: true)
            case .number, .contentLength, .dimension, .refused: nil
            }
        }
        refused = zip(Field.allCases, definitions).reduce(0) { bits, field in
            if case .refused = field.1.value { bits | field.0.bit } else { bits }
        }
    }

    /// Returns the field with a name; nil if it has no meaning here.
    func field(named name: [UInt8]) -> Field? {
        guard name.count < places.count else { return nil }
        let place = places[name.count].first { ASCII.isSameName(name, definitions[$0].nameBytes) }
        return place.flatMap(Field.init(rawValue:))
    }
}

/// The name of a field and the values it may have.
struct FieldDefinition: Sendable {
    /// The name as it is written; comparisons ignore case.
    let name: String
    let nameBytes: [UInt8]
    let value: FieldValue

    init(_ name: String, _ value: FieldValue) {
        (self.name, nameBytes, self.value) = (name, Array(name.utf8), value)
    }
}

/// The values that a field may have.
enum FieldValue: Sendable {
    /// A number in a range.
    case number(NumberRange)
    /// The length of the body in bytes, up to the limit.
    case contentLength
    /// The length of one side in pixels, up to the limit.
    case dimension
    /// One of these words; the value is its index.
    case word([String])
    /// One of these words, or any other word, whose value is the index after the last one.
    case openWord([String])
    /// None: the field must not occur, because it would frame the body in another way.
    case refused
}
