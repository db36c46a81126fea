public import FrameWire
public import TurboJPEG

/// A decoded frame for a video encoder: planes of luma and chroma, with a timestamp and an orientation.
///
/// Samples are full-range YCbCr as defined by JFIF (BT.601 matrix); chroma has half the width and height, rounded up.
public struct VideoFrame: Sendable {
    /// The arrangement of the planes.
    public enum Format: Sendable, Hashable, CaseIterable {
        /// Three planes: Y, Cb and Cr.
        case i420
        /// Two planes: Y, and interleaved Cb and Cr.
        case nv12

        /// The corresponding pixel format.
        public var pixelFormat: PixelFormat {
            switch self {
            case .i420: .i420
            case .nv12: .nv12
            }
        }
    }

    /// The image that the planes belong to.
    public let image: PixelBuffer

    /// The image's orientation; `up` if the decoder has rotated it.
    public let orientation: FrameOrientation

    /// The presentation time in nanoseconds: the sender's, or the time of arrival if the sender states none.
    public let timestamp: UInt64

    /// The width in pixels.
    public var width: Int { image.width }

    /// The height in pixels.
    public var height: Int { image.height }

    /// The clockwise rotation that makes the image upright: 0, 90, 180 or 270 degrees.
    ///
    /// A mirrored image must be flipped horizontally first; see ``isMirrored``.
    public var rotation: Int { orientation.rotation }

    /// Whether the image must be flipped horizontally before it is rotated.
    public var isMirrored: Bool { orientation.isMirrored }

    /// The number of planes: 3 for I420, 2 for NV12.
    public var planeCount: Int { image.planeCount }

    /// Returns the layout of a plane: samples per row, rows, and bytes from one row to the next.
    ///
    /// - Precondition: `index` is in `0..<planeCount`.
    public func plane(_ index: Int) -> PixelBuffer.Plane {
        image.plane(index)
    }

    /// Calls the body with the bytes of every plane, in order; for NV12 the second and third are the same.
    ///
    /// Each span begins with the plane's first sample and ends with its last; ``plane(_:)`` returns the distance
    /// between rows. For a C encoder, get the pointers with `withUnsafeBufferPointer`.
    public func withPlanes<Result: ~Copyable, Failure: Error>(
        _ body: (_ luma: Span<UInt8>, _ blue: Span<UInt8>, _ red: Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try image.withPlane(0) { luma throws(Failure) in
            try image.withPlane(1) { blue throws(Failure) in
                try image.withPlane(planeCount - 1) { red throws(Failure) in
                    try body(luma, blue, red)
                }
            }
        }
    }
}
