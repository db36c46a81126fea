/// The color that shows through where a PNG is transparent, in sRGB.
package struct PNGBackground: Sendable, Hashable {
    /// Red, green and blue.
    package let channels: [UInt8]

    /// The default: what is drawn with transparency, such as a window with its shadow, is drawn for a light page.
    package static let white = PNGBackground(red: 255, green: 255, blue: 255)

    package static let black = PNGBackground(red: 0, green: 0, blue: 0)

    package init(red: UInt8, green: UInt8, blue: UInt8) { channels = [red, green, blue] }

    /// Parses `white`, `black`, or six hexadecimal digits with or without `#`; nil for any other text.
    package init?(parsing text: String) {
        let plain = text.hasPrefix("#") ? text.dropFirst() : text[...]
        let digits = ["white": "ffffff", "black": "000000"][text] ?? plain
        guard digits.utf8.count == 6, digits.allSatisfy(\.isHexDigit), let number = UInt32(digits, radix: 16) else {
            return nil
        }
        channels = [16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
