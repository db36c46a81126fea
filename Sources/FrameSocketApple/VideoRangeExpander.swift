internal import FrameSocket

/// Makes full-range NV12 of video-range NV12, in memory that is used again.
///
/// A JPEG is of full range (JFIF): luma and chroma from 0 to 255. Video range has luma from 16 to 235 and chroma
/// from 16 to 240, and taken as it is would come out pale.
final class VideoRangeExpander: Sendable {
    private let pool = PixelBufferPool()
    private let luma = (0...255).map { UInt8(clamping: (($0 - 16) * 255 * 2 + 219).dividedDown(by: 219 * 2)) }
    private let chroma = (0...255).map { UInt8(clamping: (($0 - 128) * 255 * 2 + 224).dividedDown(by: 224 * 2) + 128) }

    /// The picture in full range: one pass over its bytes.
    ///
    /// - Throws: `allocationFailed`.
    func expand(_ picture: PixelBuffer) throws(TurboJPEGError) -> PixelBuffer {
        var result = try pool.buffer(width: picture.width, height: picture.height, format: picture.format)
        for plane in 0..<picture.planeCount {
            let table = plane == 0 ? luma : chroma
            for row in 0..<picture.plane(plane).height {
                try result.withMutableRow(row, ofPlane: plane) { target in
                    picture.withRow(row, ofPlane: plane) { source in
                        for index in source.indices { target[index] = table[Int(source[index])] }
                    }
                }
            }
        }
        return result
    }
}

extension Int {
    /// The quotient rounded towards negative infinity, so that halves added beforehand round to the nearest.
    fileprivate func dividedDown(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
