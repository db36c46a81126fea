internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The plan for encoding frames of one shape under one configuration, and its memory.
///
/// Computed once and shared: a steady stream needs one plan. A frame that is sent unchanged needs none.
final class EncodingPlan: Sendable {
    /// The part of the configuration that the encoder needs.
    struct Settings: Sendable, Hashable {
        let quality: Int
        let scale: OutputScale
        let subsampling: ChromaSubsampling
        let appliesOrientation: Bool
        let allowsStrips: Bool

        init(_ configuration: SampleUploader.Configuration) {
            quality = configuration.quality
            scale = configuration.scale
            subsampling = configuration.subsampling
            appliesOrientation = configuration.appliesOrientation
            allowsStrips = configuration.strips == .automatic
        }
    }

    /// The pixels that a plan is for.
    struct Shape: Sendable, Hashable {
        let size: BufferSize
        let format: PixelFormat
        /// The bytes that the frame keeps: none if the pixels are in a shared buffer.
        let byteCount: Int
        let orientation: FrameOrientation
        /// Whether the pixels have the size that is sent.
        let isScaled: Bool

        init?(_ content: FrameContent, _ orientation: FrameOrientation) {
            guard let pixels = content.pixels else { return nil }
            size = BufferSize(width: pixels.width, height: pixels.height)
            format = pixels.format
            byteCount = content.byteCount
            self.orientation = orientation
            isScaled = content.isScaled
        }
    }

    let settings: Settings
    /// The number of the configuration that the plan belongs to.
    let edition: UInt64
    /// The limit of the frames' memory under which it was made.
    let limit: Int
    /// The pixels that the plan is for; nil if it is for a single JPEG.
    let shape: Shape?
    /// Which part of the image is sent, and in what size.
    let output: OutputPlan
    /// Whether the content is rotated upright.
    let isTurning: Bool
    let need: MemoryNeed
    /// The size of a shared buffer for the result; nil if the content has no pixels, or more than a buffer may have.
    let sharedByteCount: Int?

    /// Creates the plan for some content, nil if it is sent unchanged; `limit` decides whether there is room to keep
    /// strips.
    init?(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ settings: Settings,
        edition: UInt64 = 0,
        limit: Int = .max
    ) {
        self.settings = settings
        self.edition = edition
        self.limit = limit
        isTurning = settings.appliesOrientation && orientation.isTurning
        switch content {
        case .pixels, .scaled, .shared:
            guard let pixels = content.pixels, let shape = Shape(content, orientation) else { return nil }
            self.shape = shape
            output =
                shape.isScaled ? OutputPlan(shape.size) : settings.output(for: shape.size, orientation, shape.format)
            let isPlanar = settings.subsampling == .yuv420 && pixels.canBecomePlanes(by: output)
            let format = isPlanar ? .i420 : pixels.format
            let buffers = settings.buffers(for: output, format, isTurning: isTurning)
            need = settings.need(content: content.byteCount, besides: buffers, output, limit, format)
            sharedByteCount = Self.sharedByteCount(
                of: output.canvas,
                pixels.format,
                isTurning: isTurning && orientation.swapsAxes
            )
        case .jpeg(let jpeg, let size):
            guard isTurning else { return nil }
            (shape, sharedByteCount) = (nil, nil)
            output = OutputPlan(size)
            need = settings.need(turning: jpeg, output, limit)
        case .resizableJPEG(let jpeg, let size):
            (shape, sharedByteCount) = (nil, nil)
            output = settings.output(for: size, orientation)
            guard isTurning || !output.isIdentity else { return nil }
            need = settings.need(decoding: jpeg, output, isTurning: isTurning, limit)
        case .encoded:
            return nil
        }
    }

    private static func sharedByteCount(of size: BufferSize, _ format: PixelFormat, isTurning: Bool) -> Int? {
        let (width, height) = isTurning ? (size.height, size.width) : (size.width, size.height)
        let byteCount = try? PixelBuffer.byteCount(width: width, height: height, format: format)
        return byteCount.flatMap { SharedFrameHeader.Buffer.byteCounts.contains($0) ? $0 : nil }
    }

    /// Returns whether a plan made now for the same content would be the same.
    func isCurrent(_ configuration: SampleUploader.Configuration, edition: UInt64, limit: Int) -> Bool {
        self.edition == edition && self.limit == limit && settings == Settings(configuration)
    }

    /// Returns whether the plan is for pixels like these.
    func applies(to content: FrameContent, _ orientation: FrameOrientation) -> Bool {
        shape.map { $0 == Shape(content, orientation) } ?? false
    }
}

/// The memory that a frame takes, in bytes.
struct MemoryNeed: Sendable, Hashable {
    /// While it waits.
    let content: Int
    /// At most, while it is encoded; at least ``content``.
    let total: Int
    /// In addition to its JPEG, once that exists: what the encoder keeps for the next frame.
    let workspace: Int
    /// Whether strips are kept for the next frame, and counted.
    let keepsStrips: Bool

    init(content: Int, total: Int, workspace: Int = 0, keepsStrips: Bool = false) {
        (self.content, self.total) = (content, total)
        (self.workspace, self.keepsStrips) = (workspace, keepsStrips)
    }

    /// Returns the need with a total of at least `byteCount`.
    func atLeast(_ byteCount: Int) -> MemoryNeed {
        MemoryNeed(content: content, total: max(total, byteCount), workspace: workspace, keepsStrips: keepsStrips)
    }
}

extension EncodingPlan.Settings {
    /// Returns the plan for pixels of a format, or for a JPEG.
    func output(for size: BufferSize, _ orientation: FrameOrientation, _ format: PixelFormat? = nil) -> OutputPlan {
        scale.plan(
            forWidth: size.width,
            height: size.height,
            orientation: orientation,
            appliesOrientation: appliesOrientation,
            // Planar images have this one, whatever the JPEG's is.
            subsampling: format?.isPlanar == true ? .yuv420 : subsampling
        )
    }

    /// Returns the bytes of the intermediate images between the content and its JPEG.
    fileprivate func buffers(for plan: OutputPlan, _ format: PixelFormat, isTurning: Bool) -> Int {
        let canvas = EncodingMemory.bytes(of: plan.canvas, format)
        return (plan.makesImage ? canvas : 0) + (isTurning ? canvas : 0)
            + EncodingMemory.bytes(ofChannelFrom: plan.part, to: plan.scaled, format)
    }

    /// Returns the most that an image of this size takes while it is encoded, without strips.
    func need(of size: BufferSize, _ format: PixelFormat) -> Int {
        let output = output(for: size, .up, format)
        let buffers = buffers(for: output, format, isTurning: appliesOrientation)
        return need(content: EncodingMemory.bytes(of: size, format), besides: buffers, output, 0, format).total
    }

    /// Returns the need of pixels that were scaled when they were submitted.
    func need(scaled output: OutputPlan, _ format: PixelFormat, isTurning: Bool, limit: Int) -> MemoryNeed {
        let plan = OutputPlan(output.canvas)
        let buffers = buffers(for: plan, format, isTurning: isTurning)
        return need(content: EncodingMemory.bytes(of: output.canvas, format), besides: buffers, plan, limit, format)
    }

    /// Returns the need of a JPEG that is decoded.
    fileprivate func need(
        decoding jpeg: FrameBytes,
        _ plan: OutputPlan,
        isTurning: Bool,
        _ limit: Int
    ) -> MemoryNeed {
        let decoded = EncodingMemory.bytes(of: plan.scaledDecoding().plan.image, .bgrx)
        let buffers = buffers(for: plan, .bgrx, isTurning: isTurning)
        let need = need(content: jpeg.count, besides: decoded + buffers, plan, limit)
        guard limit < .max else { return need }
        let coefficients = jpeg.withBytes { JPEGHeader.Coefficients(of: $0) }
        guard coefficients.areKeptToDecode else { return need }
        return need.atLeast(jpeg.count + decoded + coefficients.byteCount)
    }

    /// Returns the need of a JPEG that is rotated without loss, or else decoded.
    fileprivate func need(turning jpeg: FrameBytes, _ plan: OutputPlan, _ limit: Int) -> MemoryNeed {
        let need = need(decoding: jpeg, plan, isTurning: true, limit)
        guard limit < .max else { return need }
        // Those of both JPEGs, and the new one.
        let coefficients = jpeg.withBytes { JPEGHeader.Coefficients(of: $0) }
        return need.atLeast(2 * (jpeg.count + coefficients.byteCount))
    }

    /// Returns the need of content that is encoded, including the strips kept for the next frame if there is room.
    fileprivate func need(
        content: Int,
        besides buffers: Int,
        _ plan: OutputPlan,
        _ limit: Int,
        _ format: PixelFormat? = nil
    ) -> MemoryNeed {
        let jpeg = EncodingMemory.bytes(ofJPEG: plan.canvas, quality: quality, subsampling: subsampling)
        let total = content + buffers + jpeg
        guard allowsStrips, total + jpeg <= limit else {
            let planes = format.map { EncodingMemory.bytes(ofPlanesFor: plan.canvas, $0) } ?? 0
            return MemoryNeed(content: content, total: total + planes, workspace: buffers + planes)
        }
        return MemoryNeed(content: content, total: total + jpeg, workspace: buffers + jpeg, keepsStrips: true)
    }
}
