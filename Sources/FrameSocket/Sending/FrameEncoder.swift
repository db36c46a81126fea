internal import FrameTransport
internal import FrameWire
internal import Locking
internal import TurboJPEG

/// Makes JPEGs of pictures, one at a time, in memory that is used again.
final class FrameEncoder: Sendable {
    /// What is to be sent.
    enum Content: Sendable {
        case pixels(PixelBuffer)
        /// Sent as it is.
        case jpeg(FrameBytes, BufferSize)
        /// Made anew in the size that is wanted.
        case resizableJPEG(FrameBytes, BufferSize)
    }

    /// What is sent, and what its head is to say.
    struct Picture: Sendable {
        let jpeg: FrameBytes
        let bufferSize: BufferSize
        let orientation: FrameOrientation
    }

    typealias Configuration = SampleUploader.Configuration

    let workspace = Locked(EncodingWorkspace())

    func encode(
        _ content: consuming Content,
        _ orientation: FrameOrientation,
        _ configuration: Configuration
    ) throws(TurboJPEGError) -> Picture {
        let turns = configuration.appliesOrientation && orientation.isTurning
        var configuration = configuration
        if !memoryNeed(content, orientation, configuration).keepsStrips { configuration.strips = .off }
        switch consume content {
        case .pixels(let picture):
            return try encode(picture, nil, orientation, configuration)
        case .jpeg(let jpeg, let bufferSize):
            guard turns else { return Picture(jpeg: jpeg, bufferSize: bufferSize, orientation: orientation) }
            return try turn(jpeg, orientation, configuration)
        case .resizableJPEG(let jpeg, let bufferSize):
            let plan = configuration.plan(for: bufferSize, orientation)
            guard plan.isIdentity else { return try encode(jpeg, plan, orientation, configuration) }
            return try encode(.jpeg(jpeg, bufferSize), orientation, configuration)
        }
    }

    /// The most bytes that encoding takes, those of the content included.
    func memoryNeed(
        _ content: Content,
        _ orientation: FrameOrientation,
        _ configuration: Configuration
    ) -> MemoryNeed {
        let turns = configuration.appliesOrientation && orientation.isTurning
        switch content {
        case .pixels(let picture):
            let size = BufferSize(width: picture.width, height: picture.height)
            let plan = configuration.plan(for: size, orientation)
            let bytes = EncodingMemory.bytes(of: picture)
            let isPlanar = configuration.subsampling == .yuv420 && picture.canBecomePlanes(by: plan)
            let format = isPlanar ? .i420 : picture.format
            let total = bytes + configuration.memory(for: plan, format, turns: turns)
            return configuration.keepingStrips(MemoryNeed(content: bytes, total: total), of: plan)
        case .jpeg(let jpeg, let size):
            guard turns else { return MemoryNeed(content: jpeg.count, total: jpeg.count) }
            return configuration.memoryNeed(of: jpeg, OutputPlan(size), turns: true)
        case .resizableJPEG(let jpeg, let size):
            let plan = configuration.plan(for: size, orientation)
            guard !plan.isIdentity else { return memoryNeed(.jpeg(jpeg, size), orientation, configuration) }
            return configuration.memoryNeed(of: jpeg, plan, turns: turns)
        }
    }

    /// Scales, turns and encodes pixels, after a plan for a picture in its orientation where it is not the usual one.
    private func encode(
        _ picture: consuming PixelBuffer,
        _ plan: OutputPlan?,
        _ orientation: FrameOrientation,
        _ configuration: Configuration
    ) throws(TurboJPEGError) -> Picture {
        let size = BufferSize(width: picture.width, height: picture.height)
        let plan = plan ?? configuration.plan(for: size, orientation)
        let turns = configuration.appliesOrientation && orientation.isTurning
        let isPlanar = configuration.subsampling == .yuv420 && picture.canBecomePlanes(by: plan)
        let format = isPlanar ? .i420 : picture.format
        let shape = EncodingWorkspace.Shape(canvas: plan.canvas, format: format, isTurned: turns)
        let workspace = workspace.withLock { $0.prepared(for: shape) }
        // Each step lets go of what it began with, so that a large picture does not outlive its scaling.
        picture =
            isPlanar
            ? try picture.planes(by: plan, pool: workspace.scaled)
            : try picture.applying(plan, pool: workspace.scaled)
        if turns { picture = try picture.upright(from: orientation, pool: workspace.turned) }
        var encoder = workspace.encoder
        encoder.quality = configuration.quality
        encoder.subsampling = configuration.subsampling
        let capacity = try encoder.maximumByteCount(width: picture.width, height: picture.height)
        let jpeg = try FrameBytes(capacity: capacity, pool: workspace.bytes) { output throws(TurboJPEGError) in
            switch configuration.strips {
            case .off: try encoder.encode(picture, into: &output)
            case .automatic: try workspace.strips.encode(picture, with: encoder, into: &output)
            }
        }
        return Picture(
            jpeg: jpeg,
            bufferSize: BufferSize(width: picture.width, height: picture.height),
            orientation: turns ? .up : orientation
        )
    }

    /// Decodes a JPEG in the least size that will do, and encodes it after the plan.
    private func encode(
        _ jpeg: FrameBytes,
        _ plan: OutputPlan,
        _ orientation: FrameOrientation,
        _ configuration: Configuration
    ) throws(TurboJPEGError) -> Picture {
        let (factor, plan) = plan.scaledDecoding()
        let decoder = workspace.withLock { $0.decoder(for: plan.picture) }
        let picture = try jpeg.withBytes { bytes throws(TurboJPEGError) in
            try decoder.decode(bytes, as: configuration.decodedFormat(of: bytes), scale: factor)
        }
        return try encode(picture, plan, orientation, configuration)
    }

    /// Turns a JPEG without loss where its size allows that, and by decoding it where not.
    private func turn(
        _ jpeg: FrameBytes,
        _ orientation: FrameOrientation,
        _ configuration: Configuration
    ) throws(TurboJPEGError) -> Picture {
        do {
            let upright = try UprightJPEG(jpeg, orientation, edges: .perfect, limits: .ownFiles)
            return Picture(jpeg: upright.jpeg, bufferSize: upright.size, orientation: .up)
        } catch  where error.code == .transformFailed || error.code == .unsupported {
            let header = try jpeg.withBytes { bytes throws(TurboJPEGError) in try JPEGHeader(inspecting: bytes) }
            let size = BufferSize(width: header.width, height: header.height)
            return try encode(jpeg, OutputPlan(size), orientation, configuration)
        }
    }
}

extension SampleUploader.Configuration {
    fileprivate func plan(for size: BufferSize, _ orientation: FrameOrientation) -> OutputPlan {
        scale.plan(
            forWidth: size.width,
            height: size.height,
            orientation: orientation,
            subsampling: subsampling
        )
    }

    /// The bytes of all that a plan leads to, from a picture of the given format.
    fileprivate func memory(for plan: OutputPlan, _ format: PixelFormat, turns: Bool) -> Int {
        let canvas = EncodingMemory.bytes(of: plan.canvas, format)
        let scales =
            plan.scaled != plan.canvas || plan.part.x + plan.part.y > 0
            || (plan.scaled.width, plan.scaled.height) != (plan.part.width, plan.part.height)
        return (scales ? canvas : 0) + (turns ? canvas : 0)
            + EncodingMemory.bytes(ofJPEG: plan.canvas, quality: quality, subsampling: subsampling)
    }

    /// What a JPEG takes that is decoded; turning it without loss takes no more.
    fileprivate func memoryNeed(of jpeg: FrameBytes, _ plan: OutputPlan, turns: Bool) -> MemoryNeed {
        let decoded = EncodingMemory.bytes(of: plan.scaledDecoding().plan.picture, .bgrx)
        let total = jpeg.count + decoded + memory(for: plan, .bgrx, turns: turns)
        return keepingStrips(MemoryNeed(content: jpeg.count, total: total), of: plan)
    }

    /// The need with the strips that are kept from one picture to the next, where the memory allows that.
    fileprivate func keepingStrips(_ need: MemoryNeed, of plan: OutputPlan) -> MemoryNeed {
        let strips = EncodingMemory.bytes(ofJPEG: plan.canvas, quality: quality, subsampling: subsampling)
        guard self.strips == .automatic, need.total + strips <= maximumMemory ?? .max else { return need }
        return MemoryNeed(content: need.content, total: need.total + strips, keepsStrips: true)
    }

    /// The format in which nothing is converted that need not be.
    fileprivate func decodedFormat(of jpeg: Span<UInt8>) throws(TurboJPEGError) -> PixelFormat {
        let header = try JPEGHeader(inspecting: jpeg)
        if subsampling == .gray || header.subsampling == .gray { return .gray }
        return subsampling == .yuv420 && header.subsampling == .yuv420 ? .i420 : .bgrx
    }
}

extension FrameOrientation {
    /// Whether a picture has to be flipped or turned to be upright.
    var isTurning: Bool { isMirrored || rotation != 0 }
}
