/// The bytes that have a special meaning in a header.
enum ASCII {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let zero: UInt8 = 0x30
    static let colon: UInt8 = 0x3A

    @inline(__always)
    static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }

    @inline(__always)
    static func isVisible(_ byte: UInt8) -> Bool { byte > space && byte < 0x7F }

    /// Whether `byte` is allowed in a field name: `tchar` of RFC 9110.
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    /// Whether `byte` is allowed in a field value: `field-vchar` of RFC 9110, a space or a tab.
    static func isValue(_ byte: UInt8) -> Bool { byte == tab || (byte >= space && byte != 0x7F) }
}

extension Span<UInt8> {
    /// Whether these are the same bytes as others.
    func isEqual(to other: [UInt8]) -> Bool { count == other.count && indices.allSatisfy { self[$0] == other[$0] } }

    func isToken(from start: Int, to end: Int) -> Bool { (start..<end).allSatisfy { ASCII.isToken(self[$0]) } }

    /// Returns the eight bytes at `index`, the first one lowest.
    @inline(__always)
    func word(at index: Int) -> UInt64 {
        // Safe: the span checks that the load is within bounds, and every bit pattern is a valid number.
        UInt64(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// Returns the index of the first `byte` from `start` on; nil if there is none.
    @inline(__always)
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let pattern = ones &* UInt64(byte)
        var index = start
        while count &- index >= 8 {
            let difference = word(at: index) ^ pattern
            // The lowest of these bits is that of the first byte that is 0, which is the one sought.
            let zeroes = (difference &- ones) & ~difference & 0x8080_8080_8080_8080
            if zeroes != 0 { return index &+ zeroes.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < count {
            if self[index] == byte { return index }
            index &+= 1
        }
        return nil
    }
}

/// Makes a peer's bytes safe to print.
enum Excerpt {
    /// Returns `line`, `...` if it was shortened, and `byte`, all in printable ASCII and in double quotes.
    static func text(of line: Span<UInt8>, isCut: Bool, endingWith byte: UInt8? = nil) -> String {
        var text = "\""
        for index in line.indices { text += escape(line[index]) }
        if isCut { text += "..." }
        return text + (byte.map(escape) ?? "") + "\""
    }

    /// Returns the first bytes of `line`, up to `index`, and the wrong byte there.
    static func text(of line: Span<UInt8>, endingAt index: Int, with byte: UInt8) -> String {
        let limit = 64
        return text(of: line.extracting(..<min(index, limit)), isCut: index > limit, endingWith: byte)
    }

    private static func escape(_ byte: UInt8) -> String {
        switch byte {
        case ASCII.carriageReturn: "\\r"
        case ASCII.lineFeed: "\\n"
        case ASCII.tab: "\\t"
        case UInt8(ascii: "\\"): "\\\\"
        case UInt8(ascii: "\""): "\\\""
        case 0x20..<0x7F: String(UnicodeScalar(byte))
        default: "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
    }
}
