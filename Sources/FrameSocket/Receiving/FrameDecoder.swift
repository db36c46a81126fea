public import FrameTransport
internal import FrameWire
internal import Locking
public import TurboJPEG

/// Decodes received frames to pixels.
///
/// ```swift
/// let decoder = FrameDecoder()
/// let image = try decoder.decode(frame, as: .bgra).image
/// ```
///
/// A decoder may be used from several tasks at once, and for frames of several connections; its images share a memory
/// pool. If the sender cuts its JPEGs into strips, only the strips that changed since the previous frame are decoded.
///
/// Thread safety: any thread may use a decoder at any time. Frames of one sender should be decoded in order, by one
/// task.
public final class FrameDecoder: Sendable {
    /// The configuration of a decoder.
    public struct Configuration: Sendable {
        /// Whether images are flipped and rotated upright.
        ///
        /// Default: false.
        public var isUpright = false

        /// The decoder for the JPEG, and its limits.
        public var jpeg = JPEGDecoder()

        /// Creates a configuration with the defaults.
        public init() {}
    }

    /// The number of pixels by which the JPEG's width and height may differ from those in its message's header.
    ///
    /// Jitsi's senders halve an odd side; they state it rounded down and encode it rounded up.
    package static let sizeTolerance = 1

    let configuration: Configuration
    let strips = Locked(DecoderCache())
    private let times = Locked(TimeSummary())

    /// Creates a decoder.
    public init(configuration: Configuration = .init()) {
        self.configuration = configuration
    }

    /// The time spent on decoding so far, including rotation and scaling.
    public var decoding: TimeSummary { times.withLock { $0 } }

    /// Decodes a frame, and returns its image with its time, its orientation, and the rows that have changed since the
    /// previous frame; one in shared memory is only converted and scaled, if that is necessary.
    ///
    /// If a shared frame has the wanted format and scale, the image is the sender's memory itself, which goes back to
    /// the sender with the last reference to the image. Its content is stable as long as the sender keeps the rules;
    /// copy the image if that is not enough. Its alpha is the sender's too, and has no meaning; that of a JPEG is 255.
    ///
    /// The image has the size that the message's header states. If the JPEG is a pixel wider or higher, its last column
    /// or row is cut off, as existing Jitsi receivers do; if it is a pixel smaller, its last column or row is repeated.
    ///
    /// For a video encoder, decode to `.i420` or `.nv12`: the samples of a 4:2:0 JPEG are not converted to RGB and back.
    /// They are full-range YCbCr as defined by JFIF (BT.601 matrix); chroma has half the width and height, rounded up.
    ///
    /// - Parameters:
    ///   - frame: The frame. Zero bytes after its JPEG are ignored.
    ///   - format: The pixel format of the image.
    ///   - scale: The fraction of the size to decode to, which is faster than scaling afterwards; every row counts as changed
    ///     unless it is `JPEGDecoder.ScalingFactor.full`.
    ///   - viewport: The size of the returned image, after its rotation if ``Configuration/isUpright`` is set, and how the
    ///     decoded image fills it; nil leaves the image as it is decoded. Without `isUpright` the viewport is that of the
    ///     image as it was sent, which is turned on its side by the orientations 5 to 8. The changed rows are those of the
    ///     returned image; after a change of the viewport, every row has changed.
    /// - Returns: The image, in memory that returns to the decoder's pool, and what belongs to it.
    /// - Throws: `sizeMismatch` before any pixels are decoded, or the errors of `JPEGDecoder`; for an image in shared
    ///   memory, also `overlappingPlanes`, `invalidSize` and `invalidStride`; for a viewport, also `allocationFailed`,
    ///   and `invalidSize` if it has more pixels than the limits of `jpeg` allow an image. The
    ///   connection stays open, because the next frame may be valid, until too many frames in a row have failed: see
    ///   `FrameServer.Limits.maximumUndecodableFrames`.
    public func decode(
        _ frame: Frame,
        as format: PixelFormat = .bgra,
        scale: JPEGDecoder.ScalingFactor = .full,
        in viewport: Viewport? = nil
    ) throws(TurboJPEGError) -> DecodedFrame {
        try viewport?.check(limit: configuration.jpeg.limits.maximumPixels)
        let startedAt = MonotonicClock.now()
        var decoded = try frame.reading { () throws(TurboJPEGError) -> DecodedFrame in
            let strips = scale == .full ? stripDecoder(for: frame, as: format) : nil
            if strips == nil { self.strips.withLock { $0.releaseEnded() } }
            switch frame.content {
            case .shared(let shared):
                return try image(of: shared, in: frame, as: format, scale: scale)
            case .jpeg(let jpeg):
                return try jpeg.withSpan { jpeg throws(TurboJPEGError) in
                    try decode(jpeg, of: frame, as: format, scale: scale, strips)
                }
            }
        }
        let isComparable = strips.withLock {
            $0.noteDecoded(frame, as: format, in: viewport, isFullSize: scale == .full)
        }
        if !isComparable { decoded.changeAllRows() }
        do {
            let pool = configuration.jpeg.pool
            if configuration.isUpright { decoded = try decoded.upright(pool: pool) }
            if let viewport { decoded = try decoded.rendered(in: viewport, pool: pool) }
        } catch {
            strips.withLock { $0.noteLost(frame, as: format) }
            throw error
        }
        let took = MonotonicClock.now() &- startedAt
        times.withLock { $0.add(nanoseconds: took) }
        return decoded
    }

    /// Decodes a frame into the top left corner of the program's own image, in that image's format.
    ///
    /// The pixels are copied there, because the decoder keeps its own image for the next frame. Nothing outside them is
    /// written, and no memory is allocated unless another image shares the buffer's.
    ///
    /// - Parameters:
    ///   - frame: The frame. Zero bytes after its JPEG are ignored.
    ///   - buffer: An image at least as wide and as high as the frame's, or as the viewport's.
    ///   - viewport: As for ``decode(_:as:scale:in:)``.
    /// - Returns: The same pixels in the decoder's memory, and what belongs to them.
    /// - Throws: The errors of ``decode(_:as:scale:in:)``; `bufferTooSmall`, after which the buffer is unchanged.
    @discardableResult
    public func decode(
        _ frame: Frame,
        into buffer: inout PixelBuffer,
        in viewport: Viewport? = nil
    ) throws(TurboJPEGError) -> DecodedFrame {
        let decoded = try decode(frame, as: buffer.format, in: viewport)
        try decoded.image.copy(toCornerOf: &buffer)
        return decoded
    }

    /// Returns the strip decoder for a consumer's frames; nil for frames without a connection.
    private func stripDecoder(for frame: Frame, as format: PixelFormat) -> StripDecoder? {
        let jpeg = configuration.jpeg
        return strips.withLock {
            $0.decoder(for: frame, as: format) { StripDecoder(decoder: jpeg) }
        }
    }

    /// Returns whether a header may state this number for a JPEG's side; it can be any number.
    private static func tolerates(_ stated: Int, for side: Int) -> Bool {
        (side - sizeTolerance...side + sizeTolerance).contains(stated)
    }

    private func decode(
        _ jpeg: Span<UInt8>,
        of frame: Frame,
        as format: PixelFormat,
        scale: JPEGDecoder.ScalingFactor,
        _ strips: StripDecoder?
    ) throws(TurboJPEGError) -> DecodedFrame {
        let bufferSize = frame.bufferSize
        let check = { (width: Int, height: Int) throws(TurboJPEGError) in
            guard Self.tolerates(bufferSize.width, for: width), Self.tolerates(bufferSize.height, for: height) else {
                throw TurboJPEGError(
                    .sizeMismatch,
                    """
                    the message says \(bufferSize.width)x\(bufferSize.height), its JPEG is \(width)x\(height); at most \
                    one pixel may be between them
                    """
                )
            }
        }
        let wanted = scale.scaled(width: bufferSize.width, height: bufferSize.height)
        var image: PixelBuffer
        if let strips {
            let decoded = try strips.decode(jpeg, as: format, checking: check)
            if decoded.image.width >= wanted.width, decoded.image.height >= wanted.height {
                return DecodedFrame(
                    try decoded.image.cropped(toWidth: wanted.width, height: wanted.height),
                    changedRows: decoded.changes.rows(upTo: wanted.height),
                    of: frame
                )
            }
            image = decoded.image
        } else {
            image = try configuration.jpeg.decode(jpeg, as: format, scale: scale, checking: check)
        }
        if image.width < wanted.width || image.height < wanted.height {
            image = try image.extended(toWidth: wanted.width, height: wanted.height, pool: configuration.jpeg.pool)
        }
        return DecodedFrame(try image.cropped(toWidth: wanted.width, height: wanted.height), of: frame)
    }
}

extension StripChanges {
    /// The changed rows of the top of the image.
    fileprivate func rows(upTo height: Int) -> [Range<Int>] {
        rows.map { $0.clamped(to: 0..<height) }.filter { !$0.isEmpty }
    }
}

extension PixelBuffer {
    /// Creates an image over the memory that a frame's sender shares, without a copy.
    ///
    /// The last reference to the image releases the memory. Changing the image copies it first.
    ///
    /// - Parameter shared: The image of a received frame.
    /// - Throws: `overlappingPlanes`, `invalidSize` or `invalidStride` if no image can have these planes.
    public init(sharing shared: Frame.SharedImage) throws(TurboJPEGError) {
        let loan = shared.loan
        try unsafe self.init(
            adopting: shared.unsafePlanes,
            width: shared.bufferSize.width,
            height: shared.bufferSize.height,
            format: shared.format
        ) {
            withExtendedLifetime(loan) {}
        }
    }
}

extension FrameDecoder {
    /// Returns the image of a frame in shared memory: in place, unless it has to be converted or scaled.
    func image(
        of shared: Frame.SharedImage,
        in frame: Frame,
        as format: PixelFormat,
        scale: JPEGDecoder.ScalingFactor
    ) throws(TurboJPEGError) -> DecodedFrame {
        let pool = configuration.jpeg.pool
        var image = try PixelBuffer(sharing: shared)
        if scale != .full {
            let size = scale.scaled(width: image.width, height: image.height)
            image = try image.scaled(toWidth: size.width, height: size.height, pool: pool)
        }
        let converted = try image.converted(to: format, pool: pool)
        guard scale == .full else { return DecodedFrame(converted, of: frame) }
        // A row of a packed image becomes one of luma, and a part of the chroma of two.
        let addsChroma = converted.planeCount > image.planeCount
        let rows = addsChroma ? shared.changedRows.pairs(of: image.height) : shared.changedRows
        return DecodedFrame(converted, changedRows: rows.isEmpty ? [] : [rows], of: frame)
    }
}

extension Range<Int> {
    /// The rows that share their chroma with these, of so many.
    fileprivate func pairs(of height: Int) -> Self {
        isEmpty ? self : lowerBound / 2 * 2..<Swift.min(height, (upperBound + 1) / 2 * 2)
    }
}
