/// The color that shows through where a PNG is transparent, in sRGB.
package struct PNGBackground: Sendable, Hashable {
    package let red: UInt8
    package let green: UInt8
    package let blue: UInt8

    /// The default: what is drawn with transparency, such as a window with its shadow, is drawn for a light page.
    package static let white = PNGBackground(red: 255, green: 255, blue: 255)

    package static let black = PNGBackground(red: 0, green: 0, blue: 0)

    package init(red: UInt8, green: UInt8, blue: UInt8) {
        (self.red, self.green, self.blue) = (red, green, blue)
    }

    /// Parses `white`, `black`, or six hexadecimal digits with or without `#`; nil for any other text.
    package init?(parsing text: String) {
        switch text {
        case "white": self = .white
        case "black": self = .black
        default:
            let digits = text.hasPrefix("#") ? text.dropFirst() : text[...]
            guard digits.utf8.count == 6, digits.allSatisfy(\.isHexDigit), let number = UInt32(digits, radix: 16) else {
                return nil
            }
            self.init(
                red: UInt8(truncatingIfNeeded: number >> 16),
                green: UInt8(truncatingIfNeeded: number >> 8),
                blue: UInt8(truncatingIfNeeded: number)
            )
        }
    }
}
