/// Makes a peer's bytes safe to print.
enum Excerpt {
    /// Returns `line`, `...` if it was shortened, and `byte`, all in printable ASCII and in double quotes.
    static func text(of line: [UInt8], isCut: Bool, endingWith byte: UInt8) -> String {
        var text = "\""
        for byte in line { text += escape(byte) }
        if isCut { text += "..." }
        return text + escape(byte) + "\""
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
