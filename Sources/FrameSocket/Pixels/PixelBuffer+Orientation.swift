public import FrameWire
public import TurboJPEG

extension PixelBuffer {
    /// Returns the upright image, given its orientation in this buffer.
    ///
    /// The image is flipped if the orientation is mirrored, then rotated clockwise by `FrameOrientation.rotation`
    /// degrees; a quarter turn swaps width and height. Planar formats are rotated plane by plane, without conversion to
    /// RGB. An upright image is returned unchanged, without a copy.
    ///
    /// - Parameters:
    ///   - orientation: The image's orientation.
    ///   - pool: The pool that provides the memory of the result.
    /// - Returns: The upright image, in the same format.
    /// - Throws: `allocationFailed`.
    public func upright(
        from orientation: FrameOrientation,
        pool: Pool = Pool()
    ) throws(TurboJPEGError) -> PixelBuffer {
        guard !orientation.isUpright else { return self }
        let size = orientation.swapsAxes ? (width: height, height: width) : (width: width, height: height)
        var result = try pool.buffer(width: size.width, height: size.height, format: format)
        try unsafe result.withUnsafeMutablePlanes(preservingContents: false) { targets throws(TurboJPEGError) in
            unsafe withUnsafePlanes { sources in
                for plane in 0..<planeCount {
                    unsafe rotate(sources[plane], into: targets[plane], orientation)
                }
            }
        }
        return result
    }
}

extension FrameOrientation {
    /// Whether an image is neither flipped nor rotated to be seen; so is one of which nothing is known.
    var isUpright: Bool { !isMirrored && rotation == 0 }

    /// Whether the order of the buffer's columns is reversed when the image is made upright; they may become rows.
    var reversesColumns: Bool { isMirrored != (rotation == 180 || rotation == 270) }

    /// Whether the order of the buffer's rows is reversed when the image is made upright; they may become columns.
    var reversesRows: Bool { rotation == 90 || rotation == 180 }
}

private func rotate(_ source: UnsafePlane, into target: UnsafePlane, _ orientation: FrameOrientation) {
    switch unsafe source.shape.bytesPerSample {
    case 1: unsafe rotateSamples(of: UInt8.self, source, into: target, orientation)
    case 2: unsafe rotateSamples(of: UInt16.self, source, into: target, orientation)
    case 3: unsafe rotateSamples(of: (UInt8, UInt8, UInt8).self, source, into: target, orientation)
    default: unsafe rotateSamples(of: UInt32.self, source, into: target, orientation)
    }
}

/// Copies every sample of `source` to its place in `target`, in tiles that fit the cache in either direction.
@inline(__always)
private func rotateSamples<Sample: BitwiseCopyable>(
    of type: Sample.Type,
    _ source: UnsafePlane,
    into target: UnsafePlane,
    _ orientation: FrameOrientation
) {
    let walk = unsafe SourceWalk(source.shape, orientation)
    let sampleSize = unsafe source.shape.bytesPerSample
    let tile = 32
    for tileY in unsafe stride(from: 0, to: target.shape.height, by: tile) {
        for tileX in unsafe stride(from: 0, to: target.shape.width, by: tile) {
            for y in unsafe tileY..<min(tileY + tile, target.shape.height) {
                var from = unsafe UnsafeRawPointer(source.base) + walk.offset(x: tileX, y: y)
                var to = unsafe UnsafeMutableRawPointer(target.base) + y * target.shape.bytesPerRow + tileX * sampleSize
                for _ in unsafe tileX..<min(tileX + tile, target.shape.width) {
                    unsafe to.storeBytes(of: from.loadUnaligned(as: Sample.self), as: Sample.self)
                    unsafe from += walk.perColumn
                    unsafe to += sampleSize
                }
            }
        }
    }
}

/// Maps positions in the target to byte offsets from the source's first sample.
private struct SourceWalk {
    private let start: Int
    private let perRow: Int
    /// The step from one sample of a target's row to the next.
    let perColumn: Int

    init(_ source: PixelBuffer.Plane, _ orientation: FrameOrientation) {
        // A step to the right in the image before rotation: backwards in memory if it is flipped first.
        let across = orientation.isMirrored ? -source.bytesPerSample : source.bytesPerSample
        let down = source.bytesPerRow
        let left = orientation.isMirrored ? (source.width - 1) * source.bytesPerSample : 0
        let right = left + (source.width - 1) * across
        let bottom = (source.height - 1) * down
        switch orientation.rotation {
        case 90: (start, perColumn, perRow) = (left + bottom, -down, across)
        case 180: (start, perColumn, perRow) = (right + bottom, -across, -down)
        case 270: (start, perColumn, perRow) = (right, down, -across)
        default: (start, perColumn, perRow) = (left, across, down)
        }
    }

    func offset(x: Int, y: Int) -> Int {
        start + x * perColumn + y * perRow
    }
}
