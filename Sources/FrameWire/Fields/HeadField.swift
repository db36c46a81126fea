/// A field that means something in the heads of one direction.
///
/// A new one is a case, and its entry in ``definition``.
protocol HeadField: RawRepresentable<Int>, CaseIterable, Sendable {
    /// The field's name and values.
    var definition: FieldDefinition { get }
}

/// What a field is called and which values it may have.
struct FieldDefinition {
    /// The name as it is written; it compares without case.
    let name: String
    let value: FieldValue

    init(_ name: String, _ value: FieldValue) {
        (self.name, self.value) = (name, value)
    }
}

/// Which values a field may have.
enum FieldValue: Sendable {
    /// A number of a range.
    case number(NumberRange)
    /// The bytes of the body, up to the limit.
    case contentLength
    /// Pixels of one side, up to the limit.
    case dimension
    /// One of these words; the value is its place among them.
    case word([String])
    /// One of these words, or another one, whose value is the place behind them.
    case openWord([String])
    /// None: the field may not occur, as it would frame the body in another way.
    case refused
}
