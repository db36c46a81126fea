internal import FrameWire
internal import TurboJPEG

extension FrameDecoder {
    /// A size that decoded images get or fit into, whatever their own is.
    ///
    /// ```swift
    /// let image = try decoder.decode(frame, in: .init(width: 640, height: 480, mode: .fill)).image
    /// ```
    ///
    /// Images are reduced and enlarged, with the filter of `PixelBuffer.scaled(toWidth:height:pool:)`. An image of exactly
    /// this size is returned unchanged, without a copy.
    public struct Viewport: Sendable, Hashable {
        /// How an image of another aspect ratio fills the viewport.
        public enum Mode: Sendable, Hashable, CaseIterable {
            /// The whole image, in proportion and as large as possible, without bars: one side may be smaller than the
            /// viewport's.
            ///
            /// That side is rounded to the nearest number, at least 1. In planar formats both sides are even, unless the
            /// viewport has a side of 1.
            case fit

            /// The whole image, in proportion and as large as possible, in the center of black bars.
            ///
            /// One side is the viewport's, the other is rounded to the nearest number, at least 1. In planar formats that
            /// is the nearest even number, at least 2 if there is room, unless the image reaches the viewport's side. The
            /// bar on the left or at the top is half of the rest, rounded down to an even number.
            case letterbox

            /// The center of the image, in proportion, without bars: what exceeds the viewport on two sides is cropped.
            ///
            /// The part that is shown has the full height or width of the image; its other side is rounded down, at
            /// least 1. What is cropped on the left or at the top is half of the rest, rounded down to an even number.
            case fill

            /// The whole image without bars: its aspect ratio becomes the viewport's.
            case stretch
        }

        /// The width of the image in pixels.
        public let width: Int
        /// The height of the image in pixels.
        public let height: Int
        /// How an image of another aspect ratio fills the viewport.
        public let mode: Mode

        /// Creates a viewport, with sides clamped to 1 through 65,500.
        public init(width: Int, height: Int, mode: Mode = .letterbox) {
            let sides = 1...SampleUploader.OutputScale.Box.maximumSide
            self.width = min(max(width, sides.lowerBound), sides.upperBound)
            self.height = min(max(height, sides.lowerBound), sides.upperBound)
            self.mode = mode
        }

        /// - Throws: `invalidSize` if the viewport has more pixels than an image may have.
        func check(limit: Int) throws(TurboJPEGError) {
            guard width * height > limit else { return }
            throw TurboJPEGError(
                .invalidSize,
                "a viewport of \(width)x\(height) exceeds the limit of \(limit) pixels; choose a smaller one, or raise "
                    + "JPEGDecoder.Limits.maximumPixels"
            )
        }

        /// Returns the plan for an image.
        package func plan(for image: PixelBuffer) -> OutputPlan {
            // Pixels that share chroma are not separated.
            let side = image.format.isPlanar ? 2 : 1
            let planner = OutputPlanner(
                image.size,
                BufferSize(width: side, height: side),
                enlarges: true
            )
            let size = BufferSize(width: width, height: height)
            return image.size == size ? OutputPlan(size) : planner.plan(mode, size)
        }
    }
}

extension DecodedFrame {
    /// Returns the frame with its image in a viewport.
    func rendered(in viewport: FrameDecoder.Viewport, pool: PixelBuffer.Pool) throws(TurboJPEGError) -> DecodedFrame {
        let plan = viewport.plan(for: image)
        guard !plan.isIdentity else { return self }
        var rendered = DecodedFrame(
            try image.applying(plan, pool: pool),
            changedRows: plan.rows(changedBy: changedRows),
            orientation: orientation,
            timestamp: timestamp
        )
        // The bars too: there may be no image to compare with.
        if changedRows == [0..<image.height] { rendered.changeAllRows() }
        return rendered
    }
}
