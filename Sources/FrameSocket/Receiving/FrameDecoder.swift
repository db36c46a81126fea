public import FrameTransport
internal import FrameWire
internal import Locking
public import TurboJPEG

/// Turns frames that were received into pixels.
///
///     let decoder = FrameDecoder()
///     let picture = try decoder.decode(frame, as: .bgra)
///
/// One decoder may be used from several tasks at once, and for the frames of several connections; its images share a
/// pool of memory. Of a JPEG that its sender cut into strips only those are decoded that have changed since the frame before:
/// see `StripDecoder` of TurboJPEG.
public final class FrameDecoder: Sendable {
    /// How frames become images.
    public struct Configuration: Sendable {
        /// Whether images are flipped and turned so that a person sees them upright.
        ///
        /// Default: no.
        public var isUpright = false

        /// How the JPEG is decoded, and what it may be.
        public var jpeg = JPEGDecoder()

        /// For how many consumers, in how many formats each, the latest frame is kept for the next one: connections, and the
        /// readers of fan-outs.
        ///
        /// Default: 4; those that were used last. 0 decodes each frame as a whole.
        ///
        /// Kept are the JPEG and its image, twice if the consumer still holds the last image when the next frame comes.
        /// What was kept of a connection that has ended goes with the next frame of another one.
        public var standingPictures = 4

        /// The defaults.
        public init() {}
    }

    /// How many pixels the JPEG may be wider or higher than its message's header says, or less wide or high.
    ///
    /// Jitsi's senders halve an odd side, state it rounded down, and encode it rounded up.
    public static let sizeTolerance = 1

    let configuration: Configuration
    private let strips: Locked<StandingDecoders>
    private let times = Locked(TimeSummary())

    /// A decoder.
    public init(configuration: Configuration = .init()) {
        self.configuration = configuration
        strips = Locked(StandingDecoders(limit: configuration.standingPictures))
    }

    /// How long decoding took so far, turning included.
    public var decoding: TimeSummary { times.withLock { $0 } }

    /// Decodes a frame.
    ///
    /// The image has the size that the message's header states. Where the JPEG is a pixel wider or higher its last
    /// column or row is cut off, as deployed receivers do; if it is a pixel less, the last one is repeated.
    ///
    /// - Parameters:
    ///   - frame: The frame; zero bytes behind its JPEG are ignored.
    ///   - format: The arrangement of the bytes.
    ///   - scale: Decodes to a fraction of the size, which is faster than scaling afterwards.
    /// - Returns: The image, in memory that goes back to the decoder's pool.
    /// - Throws: `sizeMismatch` before any pixels are decoded, or what `JPEGDecoder` throws. The connection goes on, as the
    ///   next frame may be good, until too many in a row were not: see `TransportLimits.undecodableFrames`.
    public func decode(
        _ frame: Frame,
        as format: PixelFormat = .bgra,
        scale: ScalingFactor = .full
    ) throws(TurboJPEGError) -> PixelBuffer {
        try decodeChanges(frame, as: format, scale: scale).picture
    }

    /// Decodes a frame, and tells which rows have changed since the frame before.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - format: The arrangement of the bytes.
    ///   - scale: Decodes to a fraction of the size; all rows count as changed then, unless it is `ScalingFactor.full`.
    /// - Returns: The image, as ``decode(_:as:scale:)`` gives it, and the rows.
    /// - Throws: What ``decode(_:as:scale:)`` throws.
    public func decodeChanges(
        _ frame: Frame,
        as format: PixelFormat = .bgra,
        scale: ScalingFactor = .full
    ) throws(TurboJPEGError) -> DecodedFrame {
        let startedAt = MonotonicClock.now()
        var decoded: DecodedFrame
        do {
            let strips = scale == .full ? stripDecoder(for: frame, as: format) : nil
            decoded = try frame.jpeg.withBytes { jpeg throws(TurboJPEGError) in
                try decode(jpeg, bufferSize: frame.bufferSize, as: format, scale: scale, strips)
            }
            frame.reportDecoded()
        } catch {
            // A lack of memory is not the sender's fault.
            if ![.allocationFailed, .codecUnavailable].contains(error.code) { frame.reportUndecodable() }
            throw error
        }
        let isComparable = strips.withLock { $0.noteDecoded(frame, as: format, isFullSize: scale == .full) }
        if !isComparable { decoded = DecodedFrame(decoded.picture) }
        if configuration.isUpright {
            decoded = try decoded.upright(from: frame.orientation, pool: configuration.jpeg.pool)
        }
        let took = MonotonicClock.now() &- startedAt
        times.withLock { $0.add(nanoseconds: took) }
        return decoded
    }

    /// What decodes the frames of a consumer in strips; nil for frames that are of no connection.
    private func stripDecoder(for frame: Frame, as format: PixelFormat) -> StripDecoder? {
        let jpeg = configuration.jpeg
        return strips.withLock {
            $0.decoder(for: frame, as: format) { StripDecoder(decoder: jpeg) }
        }
    }

    /// Decodes a frame to the planes that a video encoder takes, with its time and orientation.
    ///
    /// Of a 4:2:0 JPEG the samples come as they are, without a detour through RGB.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - format: The arrangement of the planes.
    ///   - scale: Decodes to a fraction of the size.
    /// - Returns: The frame; upright with rotation 0 if the configuration says so.
    /// - Throws: What ``decode(_:as:scale:)`` throws.
    public func decodeVideo(
        _ frame: Frame,
        as format: VideoFrame.Format = .i420,
        scale: ScalingFactor = .full
    ) throws(TurboJPEGError) -> VideoFrame {
        VideoFrame(
            picture: try decode(frame, as: format.pixelFormat, scale: scale),
            orientation: configuration.isUpright ? .up : frame.orientation,
            timestamp: frame.timestamp ?? frame.receivedAt
        )
    }

    private func decode(
        _ jpeg: Span<UInt8>,
        bufferSize: BufferSize,
        as format: PixelFormat,
        scale: ScalingFactor,
        _ strips: StripDecoder?
    ) throws(TurboJPEGError) -> DecodedFrame {
        let header = try JPEGHeader(inspecting: jpeg)
        guard abs(header.width - bufferSize.width) <= Self.sizeTolerance,
            abs(header.height - bufferSize.height) <= Self.sizeTolerance
        else {
            throw TurboJPEGError(
                .sizeMismatch,
                """
                The message says \(bufferSize.width)x\(bufferSize.height), its JPEG is \
                \(header.width)x\(header.height); at most one pixel may be between them.
                """
            )
        }
        let wanted = scale.scaled(width: bufferSize.width, height: bufferSize.height)
        let coded = scale.scaled(width: header.width, height: header.height)
        if let strips, coded.width >= wanted.width, coded.height >= wanted.height {
            return try DecodedFrame(strips.decode(jpeg, as: format), width: wanted.width, height: wanted.height)
        }
        // What is decoded by other means is not what the next frame in strips is compared with.
        strips?.forget()
        if coded == wanted { return DecodedFrame(try configuration.jpeg.decode(jpeg, as: format, scale: scale)) }
        var picture = try configuration.jpeg.pool.buffer(
            width: max(coded.width, wanted.width),
            height: max(coded.height, wanted.height),
            format: format
        )
        try configuration.jpeg.decode(jpeg, into: &picture, scale: scale)
        try picture.extendEdges(ofWidth: coded.width, height: coded.height)
        return try DecodedFrame(picture.cropped(toWidth: wanted.width, height: wanted.height))
    }
}
