extension String {
    /// The text with what a terminal may obey shown as `\x1B` or `\u202E`: control characters, and those that change the direction of what
    /// follows, so that the name of a file neither colors nor erases nor rearranges the message that it is part of.
    ///
    /// A line feed is one of them: whoever prints several lines prints one after another.
    var visible: String {
        guard unicodeScalars.contains(where: Self.isHidden) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            guard Self.isHidden(scalar) else {
                text.unicodeScalars.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16, uppercase: true)
            let (mark, width) = scalar.isASCII ? ("x", 2) : ("u", 4)
            text += "\\" + mark + String(repeating: "0", count: width - digits.count) + digits
        }
        return text
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
