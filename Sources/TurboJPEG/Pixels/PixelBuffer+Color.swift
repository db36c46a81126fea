extension PixelBuffer {
    /// The meaning of planar video samples: their range, and the matrix that converts them to red, green and blue.
    ///
    /// Planar formats of `PixelBuffer` have the meaning that a JPEG has, ``jpeg``: full range and the matrix of BT.601.
    /// Most video uses limited range, and BT.709 from 720 rows up. Misinterpreted samples look pale, dark or off in hue.
    public struct Color: Sendable, Hashable {
        /// The sample values that represent black, white and no color.
        public enum Range: String, Sendable, Hashable, CaseIterable {
            /// Luma from 0 to 255, chroma around 128 from 0 to 255 (`pc`, JFIF).
            case full
            /// Luma from 16 to 235, chroma around 128 from 16 to 240 (`tv`).
            case limited

            fileprivate var black: Double { self == .full ? 0 : 16 }
            fileprivate var lumaSteps: Double { self == .full ? 255 : 219 }
            fileprivate var chromaSteps: Double { self == .full ? 255 : 224 }
        }

        /// The weights of red, green and blue in luma.
        public enum Matrix: String, Sendable, Hashable, CaseIterable {
            /// ITU-R BT.601: JPEG, and video of standard definition.
            case bt601
            /// ITU-R BT.709: video of high definition.
            case bt709

            fileprivate var red: Double { self == .bt601 ? 0.299 : 0.2126 }
            fileprivate var blue: Double { self == .bt601 ? 0.114 : 0.0722 }
        }

        /// The sample values that represent black, white and no color.
        public var range: Range
        /// The weights of red, green and blue in luma.
        public var matrix: Matrix

        /// The meaning in a JPEG: full range, BT.601.
        public static let jpeg = Color(range: .full, matrix: .bt601)

        /// Creates a meaning of samples.
        public init(range: Range, matrix: Matrix) {
            self.range = range
            self.matrix = matrix
        }
    }
}

/// The linear function from samples of one meaning to those of another, in 14-bit fixed point.
struct VideoColorConversion {
    private static let bits = 14
    private static let one = Double(1 << bits)

    /// New luma is `luma * y + fromBlue * cb + fromRed * cr + lumaOffset`.
    private let luma: Int32
    private let fromBlue: Int32
    private let fromRed: Int32
    private let lumaOffset: Int32
    /// The new chroma is computed from both, around 128.
    private let blue: (fromBlue: Int32, fromRed: Int32)
    private let red: (fromBlue: Int32, fromRed: Int32)

    init(from source: PixelBuffer.Color, to target: PixelBuffer.Color) {
        let (old, new) = (source.matrix, target.matrix)
        let green = 1 - old.red - old.blue
        // Red, green and blue of a sample with Y 0, as multiples of Cb and Cr.
        let redOfRed = 2 * (1 - old.red)
        let blueOfBlue = 2 * (1 - old.blue)
        let greenOfBlue = -blueOfBlue * old.blue / green
        let greenOfRed = -redOfRed * old.red / green
        let newGreen = 1 - new.red - new.blue
        // The new luma, as multiples of Cb and Cr.
        let lumaOfBlue = newGreen * greenOfBlue + new.blue * blueOfBlue
        let lumaOfRed = new.red * redOfRed + newGreen * greenOfRed

        let scale = target.range.chromaSteps / source.range.chromaSteps
        let lumaScale = target.range.lumaSteps / source.range.lumaSteps
        let mixedScale = target.range.lumaSteps / source.range.chromaSteps
        func fixed(_ value: Double) -> Int32 { Int32((value * Self.one).rounded()) }
        luma = fixed(lumaScale)
        fromBlue = fixed(lumaOfBlue * mixedScale)
        fromRed = fixed(lumaOfRed * mixedScale)
        lumaOffset = fixed(target.range.black - source.range.black * lumaScale + 0.5)
        let (byBlue, byRed) = (2 * (1 - new.blue), 2 * (1 - new.red))
        blue = (fixed((blueOfBlue - lumaOfBlue) / byBlue * scale), fixed(-lumaOfRed / byBlue * scale))
        red = (fixed(-lumaOfBlue / byRed * scale), fixed((redOfRed - lumaOfRed) / byRed * scale))
    }

    /// Converts the planes of an image to those of another one of the same size and format.
    @unsafe func convert(_ source: UnsafePlanes, into target: UnsafePlanes) {
        for row in unsafe 0..<source.height { unsafe convertLuma(row, source, target) }
        for row in unsafe 0..<source[1].shape.height { unsafe convertChroma(row, source, target) }
    }

    private func convertLuma(_ row: Int, _ source: UnsafePlanes, _ target: UnsafePlanes) {
        let (from, to) = unsafe (source[0].row(row), target[0].row(row))
        let chroma = unsafe source.chroma(row: row / 2)
        for x in unsafe 0..<source.width {
            let at = unsafe x / 2 * chroma.step
            let (cb, cr) = unsafe (Int32(chroma.blue[at]) - 128, Int32(chroma.red[at]) - 128)
            let sum = unsafe luma &* Int32(from[x]) &+ fromBlue &* cb &+ fromRed &* cr &+ lumaOffset
            unsafe to[x] = UInt8(clamping: sum >> Int32(Self.bits))
        }
    }

    private func convertChroma(_ row: Int, _ source: UnsafePlanes, _ target: UnsafePlanes) {
        let (from, to) = unsafe (source.chroma(row: row), target.chroma(row: row))
        let offset = Int32(128 << Self.bits) + Int32(1 << (Self.bits - 1))
        for x in unsafe 0..<source[1].shape.width * source[1].shape.bytesPerSample / from.step {
            let at = unsafe x * from.step
            let (cb, cr) = unsafe (Int32(from.blue[at]) - 128, Int32(from.red[at]) - 128)
            let (newBlue, newRed) = (
                blue.fromBlue &* cb &+ blue.fromRed &* cr &+ offset, red.fromBlue &* cb &+ red.fromRed &* cr &+ offset
            )
            unsafe to.blue[at] = UInt8(clamping: newBlue >> Int32(Self.bits))
            unsafe to.red[at] = UInt8(clamping: newRed >> Int32(Self.bits))
        }
    }
}

extension PixelBuffer {
    /// Returns the image with samples of another meaning, in the same format.
    ///
    /// Images with one plane are returned unchanged: they are red, green and blue, or full-range gray.
    ///
    /// - Parameters:
    ///   - source: The current meaning of the samples.
    ///   - target: The new meaning of the samples.
    ///   - pool: The pool that provides the memory of the result.
    /// - Returns: The converted image; this one, without a copy, if there is nothing to convert.
    /// - Throws: `allocationFailed`.
    public func converted(
        from source: Color,
        to target: Color = .jpeg,
        pool: PixelBuffer.Pool = PixelBuffer.Pool()
    ) throws(TurboJPEGError) -> PixelBuffer {
        guard source != target, format.isPlanar else { return self }
        let conversion = VideoColorConversion(from: source, to: target)
        var result = try pool.buffer(width: width, height: height, format: format)
        try unsafe result.withUnsafeMutablePlanes(preservingContents: false) { planes throws(TurboJPEGError) in
            unsafe withUnsafePlanes { unsafe conversion.convert($0, into: planes) }
        }
        return result
    }

    /// Returns the image in memory of a pool.
    ///
    /// - Throws: `allocationFailed`.
    package func copied(pool: PixelBuffer.Pool) throws(TurboJPEGError) -> PixelBuffer {
        let result = try pool.buffer(width: width, height: height, format: format)
        try unsafe copy(nil, over: result)
        return result
    }
}
