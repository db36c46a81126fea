/// Writes text and numbers into memory.
///
/// Writing a header byte by byte through the span takes six times as long. The writer never writes past the memory:
/// what does not fit is omitted, but counted.
@safe
package struct HeaderWriter {
    /// The number of bytes that is enough for every header, whatever its numbers.
    private static let longest = 1_024

    private let buffer: UnsafeMutableBufferPointer<UInt8>

    /// The number of bytes written, including those that were there before.
    private var count: Int

    /// Returns what `write` writes: a header, and a body of `bodyByteCount` bytes.
    static func bytes(bodyByteCount: Int = 0, _ write: (inout HeaderWriter) -> Void) -> [UInt8] {
        [UInt8](capacity: longest + bodyByteCount) { output in _ = append(to: &output, write) }
    }

    /// Appends what `write` writes to `output`; returns false, with nothing appended, if it does not fit.
    @inline(__always)
    static func append(to output: inout OutputSpan<UInt8>, _ write: (inout HeaderWriter) -> Void) -> Bool {
        unsafe output.withUnsafeMutableBufferPointer { buffer, count in
            var writer = unsafe HeaderWriter(buffer: buffer, count: count)
            write(&writer)
            guard writer.count <= buffer.count else { return false }
            count = writer.count
            return true
        }
    }

    /// Appends ASCII text.
    @inline(__always)
    mutating func append(_ text: StaticString) {
        let length = text.utf8CodeUnitCount
        if let target = unsafe room(for: length) {
            unsafe target.update(from: text.utf8Start, count: length)
        }
        count += length
    }

    /// Appends bytes that are not known beforehand, or the given ones of them.
    mutating func append(_ bytes: [UInt8], _ range: Range<Int>? = nil) {
        let range = range ?? bytes.indices
        if let target = unsafe room(for: range.count) {
            unsafe bytes.withUnsafeBufferPointer { source in
                let part = unsafe UnsafeBufferPointer(rebasing: source[range])
                if let start = part.baseAddress { unsafe target.update(from: start, count: part.count) }
            }
        }
        count += range.count
    }

    /// Appends a number in decimal digits.
    @inline(never)
    private mutating func append(_ number: UInt64) {
        var (length, bound): (Int, UInt64) = (1, 10)
        // 20 digits are the maximum, and their bound does not fit.
        while number >= bound, length < 20 { (length, bound) = (length + 1, bound &* 10) }
        if let target = unsafe room(for: length) {
            var rest = number
            for index in stride(from: length - 1, through: 0, by: -1) {
                unsafe target[index] = ASCII.zero + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
        }
        count += length
    }

    @inline(__always)
    private func room(for length: Int) -> UnsafeMutablePointer<UInt8>? {
        guard unsafe buffer.count - count >= length else { return nil }
        return unsafe buffer.baseAddress.map { unsafe $0 + count }
    }
}

extension HeaderWriter: FieldCoder {
    package mutating func code(_ field: HeaderField, _ value: inout UInt64?) {
        guard let value else { return }
        let table = HeaderField.table
        append(table.beginnings, table.beginning(of: field))
        if table.words & field.bit == 0 { append(value) } else { append(table.word(value, of: field)) }
    }

    package mutating func miss(_ field: HeaderField) {}
}

/// The header of a message, or a whole message that has no body.
package protocol WireMessage: WireFields {
    /// Writes it; whether a decoder accepts its values is not checked.
    ///
    /// A requirement with one implementation: other modules call the one that is compiled for the type, and a generic one
    /// takes 9,000 instructions more for a frame.
    func write(to writer: inout HeaderWriter)
}

extension WireMessage {
    package func write(to writer: inout HeaderWriter) {
        writer.append("HTTP/1.1 200 OK")
        _ = writer.read(self)
        writer.append("\r\n\r\n")
    }

    /// Appends it in its wire format without an allocation; false, with nothing appended, if `output` has no room for it.
    @discardableResult
    package func encode(into output: inout OutputSpan<UInt8>) -> Bool { HeaderWriter.append(to: &output, write) }

    /// Returns it in its wire format.
    package func encoded() -> [UInt8] { HeaderWriter.bytes(write) }
}

extension ControlName {
    /// Returns a request of this name with the given fields behind the length of its body.
    func request(body: [UInt8] = [], _ fields: (inout HeaderWriter) -> Void = { _ in }) -> [UInt8] {
        HeaderWriter.bytes(bodyByteCount: body.count) { writer in
            writer.append("POST /")
            writer.append(Array(rawValue.utf8))
            writer.append(" HTTP/1.1")
            var count = body.count
            writer.code(.contentLength, &count)
            fields(&writer)
            writer.append("\r\n\r\n")
            writer.append(body)
        }
    }
}
