internal import CTurboJPEG

extension JPEGDecoder {
    /// A fraction by which the library can scale an image while decoding, at less cost than decoding at full size.
    public struct ScalingFactor: Sendable, Hashable {
        /// The numerator of the fraction, which is in lowest terms.
        package let numerator: Int
        /// The denominator of the fraction.
        package let denominator: Int

        /// All factors that the library supports, from the largest to the smallest (`tjGetScalingFactors`).
        package static let allSupported: [ScalingFactor] = {
            var count: Int32 = 0
            guard let factors = unsafe tjGetScalingFactors(&count), count > 0 else { return [.full] }
            return (0..<Int(count)).map { index in
                unsafe ScalingFactor(Int(factors[index].num), Int(factors[index].denom))
            }
        }()

        /// The full size of the JPEG.
        public static let full = ScalingFactor(1, 1)
        /// Half the width and height.
        public static let half = ScalingFactor(1, 2)
        /// A quarter of the width and height.
        public static let quarter = ScalingFactor(1, 4)
        /// An eighth of the width and height.
        public static let eighth = ScalingFactor(1, 8)

        private init(_ numerator: Int, _ denominator: Int) {
            self.numerator = numerator
            self.denominator = denominator
        }

        /// Returns the size of an image after scaling, rounded up (`TJSCALED`).
        ///
        /// - Returns: The size. A side that is 0 or less is returned unchanged, and a side that would overflow becomes the
        ///   largest integer.
        public func scaled(width: Int, height: Int) -> (width: Int, height: Int) {
            (scaled(width), scaled(height))
        }

        private func scaled(_ length: Int) -> Int {
            guard length > 0 else { return length }
            let (product, overflow) = length.multipliedReportingOverflow(by: numerator)
            guard !overflow else { return .max }
            return (product - 1) / denominator + 1
        }
    }
}

extension JPEGDecoder.ScalingFactor: CustomStringConvertible {
    /// The fraction, such as `1/2`.
    public var description: String { "\(numerator)/\(denominator)" }
}
