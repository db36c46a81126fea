extension String {
    /// The text as one word of a shell's command, quoted if it has to be.
    package var shellWord: String {
        let isPlain = utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
                true
            default: "/._-+:,@%".utf8.contains(byte)
            }
        }
        guard !isPlain else { return self }
        if utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            // Nobody can see or type these; in POSIX shells since 2024, and in all that are in use but dash.
            return "$'" + unicodeScalars.map(Self.escaped).joined() + "'"
        }
        return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "'": return "\\'"
        case "\\": return "\\\\"
        case "\n": return "\\n"
        case "\t": return "\\t"
        default:
            guard scalar.value < 0x20 || scalar.value == 0x7F else { return String(scalar) }
            let digits = String(scalar.value, radix: 8)
            return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
        }
    }
}
