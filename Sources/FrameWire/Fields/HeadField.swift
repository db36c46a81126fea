/// A field that has a meaning in the headers of one direction.
///
/// To add a field, add a case and its entry in ``definition``.
protocol HeadField: RawRepresentable<Int>, CaseIterable, Sendable {
    /// The field's name and values.
    var definition: FieldDefinition { get }
}

/// The name of a field and the values it may have.
struct FieldDefinition {
    /// The name as it is written; comparisons ignore case.
    let name: String
    let value: FieldValue

    init(_ name: String, _ value: FieldValue) {
        (self.name, self.value) = (name, value)
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
