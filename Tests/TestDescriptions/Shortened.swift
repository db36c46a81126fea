// A release build makes every target, and has no Testing.
#if canImport(Testing)
    /// A text with so many characters at most: if it has more, its middle becomes a number that tells texts apart.
    package func shortened(_ text: String, to limit: Int = 36) -> String {
        guard text.count > limit else { return text }
        let end = limit / 4
        return "\(text.prefix(limit - end - 7))…\(fingerprint(of: text.utf8))…\(text.suffix(end))"
    }

    /// Five letters and digits that follow from all bytes.
    package func fingerprint(of bytes: some Sequence<UInt8>) -> String {
        let sum = bytes.reduce(into: UInt32(0)) { $0 = $0 &* 31 &+ UInt32($1) }
        return String(sum % 58_786_560 + 1_679_616, radix: 36)
    }

    /// An argument that is a text too long for a test's log.
    package struct Short: Sendable, CustomStringConvertible {
        package let text: String

        package init(_ text: String) {
            self.text = text
        }

        package var description: String { shortened(text.debugDescription) }
    }
#endif
