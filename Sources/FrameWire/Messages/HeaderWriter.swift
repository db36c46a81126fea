/// Writes text and numbers into memory.
///
/// Writing a header byte by byte through the span takes six times as long. The writer never writes past the memory:
/// what does not fit is omitted, but counted.
@safe
package struct HeaderWriter: ~Copyable {
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

    /// Appends bytes that are not known beforehand.
    mutating func append(bytes: some Sequence<UInt8>) {
        for byte in bytes {
            if let target = unsafe room(for: 1) { unsafe target.pointee = byte }
            count += 1
        }
    }

    /// Appends ASCII text, then a number in decimal digits.
    @inline(__always)
    mutating func append(_ text: StaticString, _ number: UInt64) {
        append(text)
        append(number)
    }

    @inline(never)
    private mutating func append(_ number: UInt64) {
        let length = Self.digitCount(number)
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

    private static func digitCount(_ number: UInt64) -> Int {
        var count = 1
        var bound: UInt64 = 10
        // 20 digits are the maximum, and their bound does not fit.
        while number >= bound, count < 20 {
            count += 1
            bound &*= 10
        }
        return count
    }
}

/// What is written in one way: the header of a message, or a whole one that has no body.
package protocol WireMessage {
    /// Writes it; a negative number becomes 0, and whether a decoder accepts the others is not checked.
    func write(to writer: inout HeaderWriter)
}

extension WireMessage {
    /// Appends it in its wire format without an allocation; false, with nothing appended, if `output` has no room for it.
    @discardableResult
    package func encode(into output: inout OutputSpan<UInt8>) -> Bool { HeaderWriter.append(to: &output, write) }

    /// Returns it in its wire format.
    package func encoded() -> [UInt8] { HeaderWriter.bytes(write) }
}
