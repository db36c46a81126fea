/// A text with so many characters at most: if it has more, its middle is left out.
package func shortened(_ text: String, to limit: Int = 60) -> String {
    guard text.count > limit else { return text }
    return "\(text.prefix(limit - limit / 3 - 1))…\(text.suffix(limit / 3))"
}

/// An argument that is a text too long for a test's log.
package struct Short: Sendable, CustomStringConvertible {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package var description: String { shortened(text.debugDescription) }
}
