/// Reads a value of one word, with optional trailing white space, byte by byte.
struct WordReader: Sendable {
    /// The maximum number of bytes of a word.
    static var maximumByteCount: Int { 32 }

    private var bytes: [UInt8] = []
    private var isAfterWord = false

    /// Consumes a byte of the value, starting with the first one that is not white space.
    mutating func take(_ byte: UInt8) throws(HeaderFault) {
        if ASCII.isWhiteSpace(byte) {
            isAfterWord = true
            return
        }
        guard ASCII.isToken(byte), !isAfterWord else { throw HeaderFault(.wordInvalid) }
        guard bytes.count < Self.maximumByteCount else { throw HeaderFault(.wordTooLong) }
        bytes.append(byte)
    }

    /// Returns the word, at the carriage return.
    func end() throws(HeaderFault) -> [UInt8] {
        guard !bytes.isEmpty else { throw HeaderFault(.wordEmpty) }
        return bytes
    }
}
