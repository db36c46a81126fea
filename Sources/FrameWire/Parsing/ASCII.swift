/// The bytes that have a special meaning in a header.
enum ASCII {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let zero: UInt8 = 0x30
    static let colon: UInt8 = 0x3A

    static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == space || byte == tab }

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

    /// Whether a name equals `other`, ignoring case.
    ///
    /// Setting bit 5 folds the letters. Of the other token bytes it conflates only `^` and `~`, which no name has.
    @inline(__always)
    static func isSameName(_ name: [UInt8], _ other: [UInt8]) -> Bool {
        // Takes half the time of `zip`.
        name.count == other.count && name.indices.allSatisfy { name[$0] | 0x20 == other[$0] | 0x20 }
    }
}
