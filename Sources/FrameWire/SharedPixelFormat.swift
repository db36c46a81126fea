/// The arrangement of an image's bytes in a shared buffer: the word in the field `Shared-Format`.
///
/// The names, and the order of the channels, are those of the `PixelFormat` that frames are submitted in.
public enum SharedPixelFormat: String, Sendable, Hashable, CaseIterable {
    case bgra, rgba, argb, abgr, bgrx
    case rgb, bgr
    case gray
    case i420, nv12

    /// The number of planes: 1 for packed formats, 2 for `nv12`, 3 for `i420`.
    public var planeCount: Int {
        switch self {
        case .i420: 3
        case .nv12: 2
        case .bgra, .rgba, .argb, .abgr, .bgrx, .rgb, .bgr, .gray: 1
        }
    }

    /// Returns the bytes of a buffer that a plane takes, from its first sample to its last.
    package func range(of plane: SharedFrameHead.Plane, _ index: Int, _ size: BufferSize) -> Range<Int> {
        let (visible, rows) = shape(ofPlane: index, in: size)
        return plane.offset..<(plane.offset + (rows - 1) * plane.bytesPerRow + visible)
    }

    /// Returns the number of visible bytes in a row of a plane, and the number of rows.
    ///
    /// Chroma planes have half the width and height, rounded up.
    func shape(ofPlane plane: Int, in size: BufferSize) -> (bytesPerRow: Int, rows: Int) {
        switch self {
        case .bgra, .rgba, .argb, .abgr, .bgrx: (4 * size.width, size.height)
        case .rgb, .bgr: (3 * size.width, size.height)
        case .gray: (size.width, size.height)
        case .i420 where plane > 0: ((size.width + 1) / 2, (size.height + 1) / 2)
        case .nv12 where plane > 0: ((size.width + 1) / 2 * 2, (size.height + 1) / 2)
        case .i420, .nv12: (size.width, size.height)
        }
    }
}
