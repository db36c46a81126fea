internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// How frames of one shape are encoded under one configuration, and the memory that takes.
///
/// Computed once, and shared by all of them: a steady stream needs one plan. A frame that is sent as it is needs none.
final class EncodingPlan: Sendable {
    /// What the encoder needs to know of the configuration.
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
        let byteCount: Int
        let orientation: FrameOrientation
        /// Whether they have the size that is sent.
        let isScaled: Bool

        init(_ pixels: PixelBuffer, _ orientation: FrameOrientation, isScaled: Bool) {
            size = BufferSize(width: pixels.width, height: pixels.height)
            format = pixels.format
            byteCount = EncodingMemory.bytes(of: pixels)
            self.orientation = orientation
            self.isScaled = isScaled
        }
    }

    let settings: Settings
    /// The number of the configuration that it belongs to.
    let edition: UInt64
    /// The pixels that it is for; nil if it is for one JPEG alone.
    let shape: Shape?
    /// Which part of the image is sent, and in what size.
    let output: OutputPlan
    /// Whether the content is turned upright.
    let isTurning: Bool
    let need: MemoryNeed

    /// The plan for a content, nil if that is sent as it is; `limit` decides whether there is room to keep strips.
    init?(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ settings: Settings,
        edition: UInt64 = 0,
        limit: Int = .max
    ) {
        self.settings = settings
        self.edition = edition
        isTurning = settings.appliesOrientation && orientation.isTurning
        switch content {
        case .pixels(let pixels), .scaled(let pixels):
            let shape = Shape(pixels, orientation, isScaled: content.isScaled)
            self.shape = shape
            output = shape.isScaled ? OutputPlan(shape.size) : settings.output(for: shape.size, orientation)
            let isPlanar = settings.subsampling == .yuv420 && pixels.canBecomePlanes(by: output)
            let format = isPlanar ? .i420 : pixels.format
            let buffers = settings.buffers(for: output, format, isTurning: isTurning)
            need = settings.need(content: shape.byteCount, besides: buffers, output, limit)
        case .jpeg(let jpeg, let size):
            guard isTurning else { return nil }
            shape = nil
            output = OutputPlan(size)
            need = settings.need(decoding: jpeg, output, isTurning: true, limit)
        case .resizableJPEG(let jpeg, let size):
            shape = nil
            output = settings.output(for: size, orientation)
            guard isTurning || !output.isIdentity else { return nil }
            need = settings.need(decoding: jpeg, output, isTurning: isTurning, limit)
        case .encoded:
            return nil
        }
    }

    /// Whether the plan is also that of another content.
    func applies(to content: FrameContent, _ orientation: FrameOrientation, edition: UInt64) -> Bool {
        guard let shape, edition == self.edition, let pixels = content.pixels else { return false }
        return shape == Shape(pixels, orientation, isScaled: content.isScaled)
    }
}

/// The bytes that a frame takes.
struct MemoryNeed: Sendable, Hashable {
    /// While it waits.
    let content: Int
    /// At most, while it is encoded; no less than ``content``.
    let total: Int
    /// Beside its JPEG, once that is there: what the encoder keeps for the next frame.
    let workspace: Int
    /// Whether strips are kept for the next frame, and counted.
    let keepsStrips: Bool

    init(content: Int, total: Int, workspace: Int = 0, keepsStrips: Bool = false) {
        (self.content, self.total) = (content, total)
        (self.workspace, self.keepsStrips) = (workspace, keepsStrips)
    }

}

extension EncodingPlan.Settings {
    func output(for size: BufferSize, _ orientation: FrameOrientation) -> OutputPlan {
        scale.plan(
            forWidth: size.width,
            height: size.height,
            orientation: orientation,
            subsampling: subsampling
        )
    }

    /// The bytes of the images between the content and its JPEG.
    fileprivate func buffers(for plan: OutputPlan, _ format: PixelFormat, isTurning: Bool) -> Int {
        let canvas = EncodingMemory.bytes(of: plan.canvas, format)
        let isScaling =
            plan.scaled != plan.canvas || plan.part.x + plan.part.y > 0
            || (plan.scaled.width, plan.scaled.height) != (plan.part.width, plan.part.height)
        return (isScaling ? canvas : 0) + (isTurning ? canvas : 0)
    }

    /// The need of pixels that were scaled when they were offered.
    func need(scaled output: OutputPlan, _ format: PixelFormat, isTurning: Bool, limit: Int) -> MemoryNeed {
        let plan = OutputPlan(output.canvas)
        let buffers = buffers(for: plan, format, isTurning: isTurning)
        return need(content: EncodingMemory.bytes(of: output.canvas, format), besides: buffers, plan, limit)
    }

    /// The need of a JPEG that is decoded; turning it without loss takes no more.
    fileprivate func need(
        decoding jpeg: FrameBytes,
        _ plan: OutputPlan,
        isTurning: Bool,
        _ limit: Int
    ) -> MemoryNeed {
        let decoded = EncodingMemory.bytes(of: plan.scaledDecoding().plan.picture, .bgrx)
        let buffers = buffers(for: plan, .bgrx, isTurning: isTurning)
        return need(content: jpeg.count, besides: decoded + buffers, plan, limit)
    }

    /// The need of a content that is encoded, with the strips that are kept for the next frame if there is room.
    fileprivate func need(content: Int, besides buffers: Int, _ plan: OutputPlan, _ limit: Int) -> MemoryNeed {
        let jpeg = EncodingMemory.bytes(ofJPEG: plan.canvas, quality: quality, subsampling: subsampling)
        let total = content + buffers + jpeg
        guard allowsStrips, total + jpeg <= limit else {
            return MemoryNeed(content: content, total: total, workspace: buffers)
        }
        return MemoryNeed(content: content, total: total + jpeg, workspace: buffers + jpeg, keepsStrips: true)
    }
}

extension FrameOrientation {
    /// Whether an image has to be flipped or turned to be upright.
    var isTurning: Bool { isMirrored || rotation != 0 }
}
