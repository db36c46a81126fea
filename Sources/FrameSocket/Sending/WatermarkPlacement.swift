internal import FrameWire
internal import TurboJPEG

/// Where a watermark comes to lie on frames of one size and orientation, and how much of it is visible.
///
/// A reference: most recipes have none, and stay small.
final class WatermarkPlacement: Sendable {
    let watermark: SampleUploader.Watermark
    /// The size of the frames, as they are encoded.
    let size: BufferSize
    /// The orientation that their header states.
    let orientation: FrameOrientation
    /// The size that the watermark is scaled to, all of it; upright.
    let scaled: BufferSize
    /// The visible part of the scaled watermark.
    let part: PixelBuffer.Rectangle
    /// The place of that part on the frame as it is encoded.
    let place: PixelBuffer.Rectangle

    /// Creates the placement; nil if nothing of the watermark is visible.
    init?(_ watermark: SampleUploader.Watermark, on size: BufferSize, _ orientation: FrameOrientation) {
        let upright = size.oriented(by: orientation)
        guard watermark.scale > 0, 1...SampleUploader.OutputScale.Box.maximumSide ~= max(size.width, size.height) else {
            return nil
        }
        func pixels(_ fraction: Double, of side: Int) -> Int { Int(exactly: (fraction * Double(side)).rounded()) ?? 0 }
        let width = max(1, pixels(watermark.scale, of: upright.width))
        let image = watermark.image
        // Both factors are at most 65,500.
        let height = max(1, (2 * width * image.height + image.width) / (2 * image.width))
        func visible(_ start: Int, _ length: Int, _ side: Int) -> Range<Int> {
            (start..<start + length).clamped(to: 0..<side)
        }
        let (x, y) = (pixels(watermark.x, of: upright.width), pixels(watermark.y, of: upright.height))
        let (columns, rows) = (visible(x, width, upright.width), visible(y, height, upright.height))
        guard !columns.isEmpty, !rows.isEmpty else { return nil }
        (self.watermark, self.size, self.orientation) = (watermark, size, orientation)
        scaled = BufferSize(width: width, height: height)
        part = PixelBuffer.Rectangle(
            x: columns.lowerBound - x,
            y: rows.lowerBound - y,
            width: columns.count,
            height: rows.count
        )
        let (across, down) = orientation.swapsAxes ? (rows, columns) : (columns, rows)
        place = PixelBuffer.Rectangle(
            x: orientation.reversesColumns ? size.width - across.upperBound : across.lowerBound,
            y: orientation.reversesRows ? size.height - down.upperBound : down.lowerBound,
            width: across.count,
            height: down.count
        )
    }

    /// Returns whether the watermark is drawn in the same way by another placement.
    func isSame(as other: WatermarkPlacement) -> Bool {
        self === other
            || (size == other.size && orientation == other.orientation && watermark == other.watermark)
    }

    /// Returns the watermark as it is drawn on frames of a format.
    ///
    /// - Throws: `allocationFailed`.
    func overlay(_ format: PixelFormat) throws(TurboJPEGError) -> PixelOverlay {
        let image = try watermark.image.scaledWithAlpha(toWidth: scaled.width, height: scaled.height, part: part)
        return try PixelOverlay(
            // In the opposite direction: from what a viewer sees to the frame.
            image.upright(from: orientation.inverse),
            x: place.x,
            y: place.y,
            onWidth: size.width,
            height: size.height,
            format
        )
    }
}

extension FrameOrientation {
    /// The orientation whose rotation undoes this one's.
    fileprivate var inverse: FrameOrientation {
        switch self {
        case .left: .right
        case .right: .left
        // Half a turn, and every reflection, undoes itself.
        case .unknown, .up, .upMirrored, .down, .downMirrored, .leftMirrored, .rightMirrored: self
        }
    }
}
