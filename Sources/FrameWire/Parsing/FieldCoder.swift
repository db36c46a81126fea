/// What goes through the fields of a message or request, in the order in which they are written: to read them, to write
/// them, or to know which they are.
package protocol FieldCoder {
    /// Reads or writes the number of a field; nil if there is none.
    mutating func code(_ field: HeaderField, _ value: inout UInt64?)

    /// Notes that a field is missing.
    mutating func miss(_ field: HeaderField)
}

/// What consists of fields.
package protocol WireFields {
    /// Reads or writes the fields, in the order in which they are written; a negative number is written as 0.
    mutating func code(with coder: inout some FieldCoder)
}

extension FieldCoder {
    /// Returns values as they are once their fields have been read.
    @inline(__always)
    mutating func read<Fields: WireFields>(_ fields: Fields) -> Fields {
        var fields = fields
        fields.code(with: &self)
        return fields
    }

    /// A number that is required.
    @inline(__always)
    mutating func code(_ field: HeaderField, _ value: inout UInt64) {
        var number: UInt64? = value
        code(field, &number)
        if let number { value = number } else { miss(field) }
    }

    @inline(__always)
    mutating func code(_ field: HeaderField, _ value: inout Int) {
        var number = UInt64(clamping: value)
        code(field, &number)
        value = Int(clamping: number)
    }

    /// A number that may be absent.
    @inline(__always)
    mutating func code(_ field: HeaderField, _ value: inout Int?) {
        var number = value.map { UInt64(clamping: $0) }
        code(field, &number)
        value = number.map { Int(clamping: $0) }
    }

    /// 0 or 1, which may be absent.
    mutating func code(_ field: HeaderField, _ value: inout Bool?) {
        var number: UInt64? = value.map { $0 ? 1 : 0 }
        code(field, &number)
        value = number.map { $0 == 1 }
    }

    /// A required word, whose number is its place among those of its kind.
    mutating func code<Word: CaseIterable & Equatable>(_ field: HeaderField, _ word: inout Word)
    where Word.AllCases == [Word] {
        let words = Word.allCases
        var place = words.firstIndex(of: word) ?? 0
        code(field, &place)
        if words.indices.contains(place) { word = words[place] }
    }

    /// Two numbers that come together, or not at all.
    mutating func code(_ first: HeaderField, _ second: HeaderField, _ pair: inout (Int, Int)?) {
        var (one, other) = (pair?.0, pair?.1)
        code(first, &one)
        code(second, &other)
        if one == nil, other != nil { miss(first) }
        if one != nil, other == nil { miss(second) }
        pair = one.flatMap { one in other.map { (one, $0) } }
    }

    /// The sides of an image, likewise.
    mutating func code(_ width: HeaderField, _ height: HeaderField, _ size: inout BufferSize?) {
        var pair = size.map { ($0.width, $0.height) }
        code(width, height, &pair)
        size = pair.map { BufferSize(width: $0, height: $1) }
    }

    /// What comes first in a message: the length of its body, and its kind.
    mutating func begin(_ kind: MessageKind, bodyByteCount: inout Int) {
        var kind = kind
        code(.contentLength, &bodyByteCount)
        code(.messageType, &kind)
    }

    /// The same for a message without a body.
    mutating func begin(_ kind: MessageKind) {
        var none = 0
        begin(kind, bodyByteCount: &none)
    }
}

/// The fields of a message or request.
struct FieldSet: FieldCoder {
    private(set) var bits: UInt64 = 0

    mutating func code(_ field: HeaderField, _ value: inout UInt64?) { bits |= field.bit }
    mutating func miss(_ field: HeaderField) {}
}
