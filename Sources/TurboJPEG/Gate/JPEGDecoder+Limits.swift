extension JPEGDecoder {
    /// The limits that a JPEG must meet to be decoded or transformed.
    ///
    /// Each limit is checked against the JPEG's markers, before the library sees a byte and before memory for pixels is
    /// allocated. A value equal to a limit is accepted.
    public struct Limits: Sendable, Hashable {
        /// The maximum width and height, of the JPEG and of the image after scaling; 16,384 by default.
        public var maximumDimension = 16_384

        /// The maximum product of width and height, of the JPEG and of the image after scaling; 2^25 by default.
        public var maximumPixels = 1 << 25

        /// The maximum number of scans of a progressive JPEG; 0, the default, rejects all progressive ones.
        ///
        /// Each scan covers the whole image: a JPEG of 94 kB with 490 scans takes seconds and 190 MB. No sender of this
        /// wire format produces progressive JPEGs. Sequential ones have at most one scan per component, whatever this limit
        /// is.
        public var maximumProgressiveScans = 0

        /// The maximum number of zero bytes after the end of the JPEG; 10,240 by default, which is the size to which
        /// senders pad short frames.
        ///
        /// Other bytes are allowed only if `acceptsTrailingData` is true.
        package var maximumPaddingBytes = 10_240

        /// Whether any data is allowed after the end of the JPEG, where it is ignored; false by default.
        ///
        /// Cameras store further images there.
        package var acceptsTrailingData = false

        /// Whether a JPEG may use the typical Huffman tables of the standard (ITU-T T.81, K.3) without defining any; false
        /// by default.
        ///
        /// Motion JPEG from webcams and in AVI files does this.
        package var acceptsMissingHuffmanTables = false

        /// Whether a JPEG may deviate from the format in ways that the library (libjpeg-turbo) reads without a loss; false
        /// by default.
        ///
        /// The pixels are those of `djpeg`, which at most prints a warning. Accepted are: a sequential scan that states
        /// other coefficients than 0 to 63, as IP cameras and phones write zeros there; components with the same identifier,
        /// if every scan of one of them is a scan of all components; stray bytes and restart markers between segments; an
        /// end without its marker, if the data is complete; segments with a length below 2, if their content does not
        /// matter; unused Huffman tables that are empty or have too many codes; a quantization table of a precision above 1;
        /// the segments DNL and DAC, which are ignored; and an unknown version of JFIF or transform of Adobe.
        ///
        /// Damaged data is an error all the same.
        public var acceptsDeviations = false

        /// Creates the default limits, for JPEGs from an untrusted source.
        public init() {}

        /// The limits for files that the user has chosen: sides of up to 65,500 and up to 2^28 pixels, up to 100
        /// progressive scans, with trailing data, and without Huffman tables.
        ///
        /// Cameras take up to 200 million pixels. The progressive JPEGs of common programs have about ten scans.
        package static let ownFiles = {
            var limits = Limits()
            limits.maximumDimension = PixelLayout.maximumDimension
            limits.maximumPixels = 1 << 28
            limits.maximumProgressiveScans = 100
            limits.acceptsTrailingData = true
            limits.acceptsMissingHuffmanTables = true
            return limits
        }()

        /// The default limits, except that JPEGs may deviate from the format, have trailing data, and have no Huffman tables.
        ///
        /// These are for JPEGs of cameras and other devices that cannot be changed. Sizes and scans are limited as by
        /// default.
        public static let lenient = {
            var limits = Limits()
            limits.acceptsDeviations = true
            limits.acceptsTrailingData = true
            limits.acceptsMissingHuffmanTables = true
            return limits
        }()

        /// The limits for reading only a header: whatever the library can read.
        static let any = {
            var limits = Limits()
            limits.maximumDimension = PixelLayout.maximumDimension
            limits.maximumPixels = .max
            limits.maximumProgressiveScans = .max
            limits.acceptsMissingHuffmanTables = true
            limits.acceptsDeviations = true
            return limits
        }()
    }
}

extension JPEGDecoder.Limits {
    /// Rejects a size over the limits.
    ///
    /// Sides are at most 65,535 x 2, so their product does not overflow.
    package func check(width: Int, height: Int) throws(TurboJPEGError) {
        let maximumDimension = min(maximumDimension, PixelLayout.maximumDimension)
        guard max(width, height) <= maximumDimension else {
            throw TurboJPEGError(
                .tooLarge,
                "the image of \(width)x\(height) exceeds the limit of \(maximumDimension) pixels per side"
            )
        }
        guard width * height <= maximumPixels else {
            throw TurboJPEGError(
                .tooLarge,
                "the image of \(width)x\(height) exceeds the limit of \(maximumPixels) pixels"
            )
        }
    }
}
