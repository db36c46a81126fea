/// Reads a portable graymap or pixmap from front to back, without trusting its content.
///
/// The bytes are passed to each call, because a stored `Span` needs language features that are still experimental.
struct PPMReader {
    /// The width in pixels.
    private(set) var width = 0
    /// The height in pixels.
    private(set) var height = 0

    private var channels = 3
    private var isASCII = false
    private var maximum = 255
    /// Where the next byte is read: behind the image, once its rows have been read.
    private(set) var position = 2

    /// Reads the header, and checks that there are enough bytes for the samples that it states.
    init(head bytes: Span<UInt8>) throws(TurboJPEGError) {
        guard bytes.count >= 2, bytes[0] == UInt8(ascii: "P") else {
            throw TurboJPEGError(.invalidPPM, "not a portable pixmap: the bytes do not begin with P and a digit")
        }
        switch bytes[1] {
        case UInt8(ascii: "2"): (channels, isASCII) = (1, true)
        case UInt8(ascii: "3"): (channels, isASCII) = (3, true)
        case UInt8(ascii: "5"): (channels, isASCII) = (1, false)
        case UInt8(ascii: "6"): (channels, isASCII) = (3, false)
        default:
            throw TurboJPEGError(
                .unsupportedPPM,
                "only the portable graymaps and pixmaps P2, P3, P5 and P6 are supported; convert the image to P6"
            )
        }
        width = try number(bytes, "width", in: 1...PixelLayout.maximumDimension)
        height = try number(bytes, "height", in: 1...PixelLayout.maximumDimension)
        maximum = try number(bytes, "largest value", in: 1...65_535)
        // Exactly one white space separates the header from binary samples: the next byte may be a sample that looks
        // like one.
        guard position < bytes.count else { throw .truncatedPPM(at: position) }
        guard isSpace(bytes[position]) else { throw .invalidPPM("white space after the header", at: position) }
        if !isASCII { position += 1 }

        let samples = width * height * channels
        // An ASCII sample takes at least one white space and one digit.
        let needed = samples * (isASCII || maximum > 255 ? 2 : 1)
        guard bytes.count - position >= needed else { throw .truncatedPPM(at: bytes.count) }
    }

    /// Reads the next row as 8-bit red, green and blue into memory for `3 * width` bytes.
    @unsafe mutating func readRow(
        _ bytes: Span<UInt8>,
        into row: UnsafeMutablePointer<UInt8>
    ) throws(TurboJPEGError) {
        for x in 0..<width {
            let red = try sample(bytes)
            unsafe row[3 * x] = red
            unsafe row[3 * x + 1] = channels == 3 ? try sample(bytes) : red
            unsafe row[3 * x + 2] = channels == 3 ? try sample(bytes) : red
        }
    }

    private mutating func sample(_ bytes: Span<UInt8>) throws(TurboJPEGError) -> UInt8 {
        let value: Int
        if isASCII {
            value = try number(bytes, "sample", in: 0...maximum)
        } else if maximum > 255 {
            value = Int(bytes[position]) << 8 | Int(bytes[position + 1])
            position += 2
        } else {
            value = Int(bytes[position])
            position += 1
        }
        guard value <= maximum else { throw .invalidPPM("a sample of at most \(maximum)", at: position) }
        return UInt8(maximum == 255 ? value : (value * 255 + maximum / 2) / maximum)
    }

    /// Skips white space and comments, and reads a decimal number of at most five digits.
    private mutating func number(
        _ bytes: Span<UInt8>,
        _ name: String,
        in range: ClosedRange<Int>
    ) throws(TurboJPEGError) -> Int {
        let before = position
        skipSpace(bytes)
        let start = position
        var value = 0
        while position < bytes.count, let digit = digit(bytes[position]) {
            guard position - start < 5 else { throw .invalidPPM("a \(name) of at most \(range.upperBound)", at: start) }
            value = value * 10 + digit
            position += 1
        }
        guard position > start else {
            guard position < bytes.count else { throw .truncatedPPM(at: position) }
            throw .invalidPPM("a \(name)", at: position)
        }
        guard start > before else { throw .invalidPPM("white space before the \(name)", at: start) }
        guard range ~= value else {
            throw .invalidPPM("a \(name) from \(range.lowerBound) to \(range.upperBound)", at: start)
        }
        return value
    }

    private mutating func skipSpace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "#") {
                while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
            } else if isSpace(bytes[position]) {
                position += 1
            } else {
                return
            }
        }
    }
}

private func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || 9...13 ~= byte
}

private func digit(_ byte: UInt8) -> Int? {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte ? Int(byte - UInt8(ascii: "0")) : nil
}

extension TurboJPEGError {
    fileprivate static func truncatedPPM(at position: Int) -> Self {
        Self(.truncatedPPM, "the portable pixmap ends before its image is complete", byteOffset: position)
    }

    fileprivate static func invalidPPM(_ expected: String, at position: Int) -> Self {
        Self(.invalidPPM, "invalid portable pixmap: expected \(expected)", byteOffset: position)
    }
}
