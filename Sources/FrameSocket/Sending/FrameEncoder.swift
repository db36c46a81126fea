internal import FrameTransport
internal import FrameWire
internal import Locking
internal import TurboJPEG

/// Encodes frames as JPEGs, one at a time, in reused memory.
final class FrameEncoder: Sendable {
    let workspace = Locked(EncodingWorkspace())

    /// Encodes content according to its plan; without a plan it stays unchanged.
    ///
    /// Releases the content as soon as it is no longer needed: nothing holds a large image while its JPEG is encoded.
    func encode(
        _ content: consuming FrameContent,
        _ orientation: FrameOrientation,
        _ plan: EncodingPlan?
    ) throws(TurboJPEGError) -> EncodedImage {
        switch consume content {
        case .shared(let shared):
            guard let plan else { throw TurboJPEGError(.encodeFailed, "there is no plan for these pixels") }
            return try encode(shared.pixels, plan.output, orientation, plan)
        case .pixels(let image), .scaled(let image):
            guard let plan else { throw TurboJPEGError(.encodeFailed, "there is no plan for these pixels") }
            return try encode(image, plan.output, orientation, plan)
        case .jpeg(let jpeg, let bufferSize), .resizableJPEG(let jpeg, let bufferSize),
            .encoded(let jpeg, let bufferSize):
            guard let plan else {
                return EncodedImage(jpeg: jpeg, bufferSize: bufferSize, orientation: orientation)
            }
            guard plan.output.isIdentity else { return try encode(jpeg, plan.output, orientation, plan) }
            return try turn(jpeg, orientation, plan)
        }
    }

    /// Scales and rotates pixels according to their plan, in their own format.
    func prepare(
        _ content: consuming FrameContent,
        _ orientation: FrameOrientation,
        _ plan: EncodingPlan?
    ) throws(TurboJPEGError) -> (image: PixelBuffer, orientation: FrameOrientation) {
        guard let plan, var image = content.pixels else {
            throw TurboJPEGError(.encodeFailed, "there is no plan for these pixels")
        }
        let shape = EncodingWorkspace.Shape(
            canvas: plan.output.canvas,
            format: image.format,
            isTurned: plan.isTurning
        )
        let workspace = workspace.withLock { $0.prepared(for: shape) }
        image = try image.applying(plan.output, pool: workspace.scaled)
        guard plan.isTurning else { return (image, orientation) }
        return (try image.upright(from: orientation, pool: workspace.turned), .up)
    }

    /// Scales, rotates and encodes pixels.
    private func encode(
        _ image: consuming PixelBuffer,
        _ output: OutputPlan,
        _ orientation: FrameOrientation,
        _ plan: EncodingPlan
    ) throws(TurboJPEGError) -> EncodedImage {
        let isPlanar = plan.settings.subsampling == .yuv420 && image.canBecomePlanes(by: output)
        let format = isPlanar ? .i420 : image.format
        let shape = EncodingWorkspace.Shape(canvas: output.canvas, format: format, isTurned: plan.isTurning)
        let workspace = workspace.withLock { $0.prepared(for: shape) }
        // Every step releases its input, so that a large image does not outlive its scaling.
        image =
            isPlanar
            ? try image.planes(by: output, pool: workspace.scaled)
            : try image.applying(output, pool: workspace.scaled)
        if plan.isTurning { image = try image.upright(from: orientation, pool: workspace.turned) }
        var encoder = workspace.encoder
        encoder.quality = plan.settings.quality
        encoder.subsampling = plan.settings.subsampling
        let capacity = try encoder.maximumByteCount(width: image.width, height: image.height)
        let jpeg = try FrameBytes(capacity: capacity, pool: workspace.bytes) { output throws(TurboJPEGError) in
            guard output.freeCapacity >= capacity else {
                throw TurboJPEGError(.allocationFailed, "not enough memory for a JPEG of up to \(capacity) bytes")
            }
            if plan.need.keepsStrips {
                try workspace.strips.encode(image, with: encoder, into: &output)
            } else {
                try encoder.encode(image, into: &output)
            }
        }
        return EncodedImage(
            jpeg: jpeg,
            bufferSize: BufferSize(width: image.width, height: image.height),
            orientation: plan.isTurning ? .up : orientation
        )
    }

    /// Decodes a JPEG at the smallest sufficient size, and encodes it according to the plan.
    private func encode(
        _ jpeg: FrameBytes,
        _ output: OutputPlan,
        _ orientation: FrameOrientation,
        _ plan: EncodingPlan
    ) throws(TurboJPEGError) -> EncodedImage {
        let (factor, output) = output.scaledDecoding()
        let decoder = workspace.withLock { $0.decoder(for: output.image) }
        let image = try jpeg.withBytes { bytes throws(TurboJPEGError) in
            try decoder.decode(bytes, as: plan.settings.decodedFormat(of: bytes), scale: factor)
        }
        return try encode(image, output, orientation, plan)
    }

    /// Rotates a JPEG losslessly if its size allows, otherwise by decoding it.
    private func turn(
        _ jpeg: FrameBytes,
        _ orientation: FrameOrientation,
        _ plan: EncodingPlan
    ) throws(TurboJPEGError) -> EncodedImage {
        do {
            let upright = try UprightJPEG(jpeg, orientation, edges: .perfect, limits: .ownFiles)
            return EncodedImage(jpeg: upright.jpeg, bufferSize: upright.size, orientation: .up)
        } catch  where error.code == .transformFailed || error.code == .unsupported {
            let header = try jpeg.withBytes { bytes throws(TurboJPEGError) in try JPEGHeader(inspecting: bytes) }
            let size = BufferSize(width: header.width, height: header.height)
            return try encode(jpeg, OutputPlan(size), orientation, plan)
        }
    }
}

extension EncodingPlan.Settings {
    /// Returns the pixel format that avoids unnecessary conversions.
    fileprivate func decodedFormat(of jpeg: Span<UInt8>) throws(TurboJPEGError) -> PixelFormat {
        let header = try JPEGHeader(inspecting: jpeg)
        if subsampling == .gray || header.subsampling == .gray { return .gray }
        return subsampling == .yuv420 && header.subsampling == .yuv420 ? .i420 : .bgrx
    }
}
