public import FrameWire
public import TurboJPEG

/// A decoded frame as a video encoder wants it: planes of luma and chroma, and when and how to show them.
///
/// Samples are full-range YCbCr as JFIF defines it (BT.601 matrix); chroma has half the width and height, rounded up.
public struct VideoFrame: Sendable {
    /// The arrangement of the planes.
    public enum Format: Sendable, Hashable, CaseIterable {
        /// Three planes: Y, Cb and Cr.
        case i420
        /// Two planes: Y, and Cb and Cr in turns.
        case nv12

        /// The same as a format of images.
        public var pixelFormat: PixelFormat {
            switch self {
            case .i420: .i420
            case .nv12: .nv12
            }
        }
    }

    /// The image that the planes are those of.
    public let picture: PixelBuffer

    /// How the image lies; up if the decoder has turned it.
    public let orientation: FrameOrientation

    /// The presentation time in nanoseconds: the sender's or, if it states none, when the frame was received.
    public let timestamp: UInt64

    /// The width in pixels.
    public var width: Int { picture.width }

    /// The height in pixels.
    public var height: Int { picture.height }

    /// The degrees clockwise, 0, 90, 180 or 270, by which it has to be turned to be upright.
    ///
    /// A mirrored image has to be flipped horizontally before; see ``isMirrored``.
    public var rotation: Int { orientation.rotation }

    /// Whether it has to be flipped horizontally before it is turned.
    public var isMirrored: Bool { orientation.isMirrored }

    /// The number of planes: 3 for I420, 2 for NV12.
    public var planeCount: Int { picture.planeCount }

    /// The shape of a plane: samples in a row, rows, and the bytes from one row to the next.
    ///
    /// - Precondition: `index` is in `0..<planeCount`.
    public func plane(_ index: Int) -> PixelPlane {
        picture.plane(index)
    }

    /// Calls the body with the bytes of all planes, in their order; for NV12 the second and third are the same.
    ///
    /// Each begins with its first sample and ends with its last; ``plane(_:)`` tells the distance between rows. A C
    /// encoder gets its pointers by `withUnsafeBufferPointer` on each.
    public func withPlanes<Result: ~Copyable, Failure: Error>(
        _ body: (_ luma: Span<UInt8>, _ blue: Span<UInt8>, _ red: Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try picture.withPlane(0) { luma throws(Failure) in
            try picture.withPlane(1) { blue throws(Failure) in
                try picture.withPlane(planeCount - 1) { red throws(Failure) in
                    try body(luma, blue, red)
                }
            }
        }
    }
}
