/// Writes text and numbers into memory, or only counts them where there is none.
///
/// Byte by byte through the span a head takes six times as long. The writer never goes past the memory: what has no
/// room is left out.
@safe
struct HeadWriter: ~Copyable {
    private let buffer: UnsafeMutableBufferPointer<UInt8>?

    /// The bytes written, those that were there before included.
    private(set) var count: Int

    /// A writer that only counts.
    init() {
        unsafe buffer = nil
        count = 0
    }

    /// A writer that goes on behind the first `count` bytes of `buffer`, which must outlive it.
    @unsafe
    init(buffer: UnsafeMutableBufferPointer<UInt8>?, count: Int) {
        unsafe self.buffer = buffer
        self.count = count
    }

    /// Returns how many bytes `write` writes.
    static func count(of write: (inout HeadWriter) -> Void) -> Int {
        var writer = HeadWriter()
        write(&writer)
        return writer.count
    }

    /// Appends to `output` what `write` writes; false, with nothing appended, where there is no room for all of it.
    static func append(to output: inout OutputSpan<UInt8>, _ write: (inout HeadWriter) -> Void) -> Bool {
        guard output.freeCapacity >= count(of: write) else { return false }
        unsafe output.withUnsafeMutableBufferPointer { buffer, count in
            var writer = unsafe HeadWriter(buffer: buffer, count: count)
            write(&writer)
            count = writer.count
        }
        return true
    }

    /// Appends a text of ASCII.
    @inline(__always)
    mutating func append(_ text: StaticString) {
        let length = text.utf8CodeUnitCount
        if let target = unsafe room(for: length) {
            unsafe target.update(from: text.utf8Start, count: length)
        }
        count += length
    }

    /// Appends a text of ASCII, then a number in decimal digits.
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
        guard let buffer = unsafe buffer, let start = buffer.baseAddress, buffer.count - count >= length else {
            return nil
        }
        return unsafe start + count
    }

    private static func digitCount(_ number: UInt64) -> Int {
        var count = 1
        var bound: UInt64 = 10
        // 20 digits are the most, and the bound of those does not fit.
        while number >= bound, count < 20 {
            count += 1
            bound &*= 10
        }
        return count
    }
}
