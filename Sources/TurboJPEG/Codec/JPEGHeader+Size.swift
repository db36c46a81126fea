extension JPEGHeader {
    /// Finds the size that a JPEG of any kind states, whether it can be decoded here or not.
    ///
    /// For programs that pass JPEGs on: nothing is demanded of a JPEG but a frame header. A height of 0 is replaced by
    /// the one that follows the image (DNL).
    ///
    /// - Throws: `notJPEG`; `noPicture` if there is no frame header, or it states no size.
    package static func size(of jpeg: Span<UInt8>) throws(TurboJPEGError) -> (width: Int, height: Int) {
        guard jpeg.count >= 2, jpeg[0] == 0xFF, jpeg[1] == JPEGMarker.start else {
            throw TurboJPEGError(
                .notJPEG,
                jpeg.isEmpty
                    ? "the JPEG is empty"
                    : "these \(jpeg.count) bytes are not a JPEG: they do not begin with FF D8"
            )
        }
        var (width, height) = (0, 0)
        var index = 2
        while let found = nextFF(in: jpeg, from: index) {
            index = found + 1
            while index < jpeg.count, jpeg[index] == 0xFF { index += 1 }
            guard index < jpeg.count, jpeg[index] != JPEGMarker.end else { break }
            let marker = jpeg[index]
            index += 1
            if marker <= JPEGMarker.temporary || 0xD0...JPEGMarker.start ~= marker { continue }
            guard index + 2 <= jpeg.count else { break }
            let end = index + max(2, number(in: jpeg, at: index))
            guard end <= jpeg.count else { break }
            if width == 0, JPEGMarker.statesSize(marker), end - index >= 7 {
                (height, width) = (number(in: jpeg, at: index + 3), number(in: jpeg, at: index + 5))
            } else if marker == JPEGMarker.lineCount, end - index >= 4 {
                height = number(in: jpeg, at: index + 2)
            }
            if width > 0, height > 0 { return (width, height) }
            index = end
        }
        throw TurboJPEGError(.noPicture, "the JPEG of \(jpeg.count) bytes does not state the size of an image")
    }

    private static func number(in jpeg: Span<UInt8>, at index: Int) -> Int {
        Int(jpeg[index]) << 8 | Int(jpeg[index + 1])
    }

    private static func nextFF(in jpeg: Span<UInt8>, from index: Int) -> Int? {
        unsafe jpeg.withUnsafeBufferPointer { unsafe nextMarkedByte($0, in: min(index, $0.count)..<$0.count) }
    }
}
