extension SharedFrameHeader {
    /// The arrangement of an image's bytes in a shared buffer: the word in the field `Shared-Format`.
    ///
    /// The names, and the order of the channels, are those of the `PixelFormat` that frames are submitted in.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// Blue, green, red, alpha; 4 bytes per pixel.
        case bgra
        /// Red, green, blue, alpha; 4 bytes per pixel.
        case rgba
        /// Alpha, red, green, blue; 4 bytes per pixel.
        case argb
        /// Alpha, blue, green, red; 4 bytes per pixel.
        case abgr
        /// Blue, green, red and an unused byte; 4 bytes per pixel.
        case bgrx
        /// Red, green, blue; 3 bytes per pixel.
        case rgb
        /// Blue, green, red; 3 bytes per pixel.
        case bgr
        /// Luma only; 1 byte per pixel.
        case gray
        /// Three planes, Y, Cb and Cr; chroma at half the size.
        case i420
        /// Two planes, Y and interleaved Cb and Cr; chroma at half the size.
        case nv12

        /// The number of planes: 1 for packed formats, 2 for `nv12`, 3 for `i420`.
        public var planeCount: Int {
            switch self {
            case .i420: 3
            case .nv12: 2
            case .bgra, .rgba, .argb, .abgr, .bgrx, .rgb, .bgr, .gray: 1
            }
        }

        /// Returns the bytes of a buffer that a plane takes, from its first sample to its last, for a header that fits.
        package func range(of plane: Plane, _ index: Int, _ size: BufferSize) -> Range<Int> {
            guard let (visible, rows) = shape(ofPlane: index, in: size) else { return 0..<0 }
            return plane.offset..<(plane.offset + (rows - 1) * plane.bytesPerRow + visible)
        }

        /// Returns the number of visible bytes in a row of a plane, and the number of rows; nil if a row has more bytes than
        /// an integer can state.
        ///
        /// Chroma planes have half the width and height, rounded up.
        func shape(ofPlane plane: Int, in size: BufferSize) -> (bytesPerRow: Int, rows: Int)? {
            // Only planar formats have a plane other than the first, and all of those are chroma.
            let isHalved = plane > 0
            let columns = isHalved ? Self.half(size.width) : size.width
            let (bytesPerRow, overflows) = columns.multipliedReportingOverflow(by: bytesPerColumn(ofPlane: plane))
            return overflows ? nil : (bytesPerRow, isHalved ? Self.half(size.height) : size.height)
        }

        private func bytesPerColumn(ofPlane plane: Int) -> Int {
            switch self {
            case .bgra, .rgba, .argb, .abgr, .bgrx: 4
            case .rgb, .bgr: 3
            case .gray, .i420: 1
            case .nv12: plane > 0 ? 2 : 1
            }
        }

        /// Half of a number, rounded up; adding 1 first could overflow.
        private static func half(_ number: Int) -> Int { number / 2 + number % 2 }
    }
}
