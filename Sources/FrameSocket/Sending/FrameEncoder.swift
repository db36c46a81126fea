internal import FrameTransport
internal import FrameWire
internal import Locking
internal import TurboJPEG

/// Prepares frames as their recipes say, one at a time, in reused memory.
final class FrameEncoder: Sendable {
    let workspace = Locked(EncodingWorkspace())

    /// How much of the latest image was encoded anew, from 0 to 1; nil if it was encoded whole.
    var changedPart: Double? { workspace.withLock { $0.changedPart } }

    /// Returns the JPEG of a frame, with its size and orientation; without a recipe the content is one, and stays
    /// unchanged.
    ///
    /// The quality is the recipe's unless another is given. Releases the content as soon as it is no longer needed: unless
    /// it is kept for another receiver, nothing holds a large image while its JPEG is encoded.
    func encode(
        _ content: consuming FrameContent,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe?,
        _ damage: RowSet? = nil,
        _ quality: Int? = nil
    ) throws(TurboJPEGError) -> FrameMessage {
        switch consume content {
        case .pixels(let image), .scaled(let image, _):
            guard let recipe else { throw Self.missingRecipe }
            return try encode(image, recipe.image, orientation, recipe, damage, quality)
        case .jpeg(let jpeg, let size), .resizableJPEG(let jpeg, let size):
            guard let recipe else {
                return FrameMessage(jpeg: jpeg, info: FrameInfo(bufferSize: size, orientation: orientation))
            }
            guard recipe.output.isIdentity, recipe.image.watermark == nil else {
                return try encode(jpeg, recipe.output, orientation, recipe, quality)
            }
            return try rotate(jpeg, orientation, recipe, quality)
        }
    }

    private static let missingRecipe = TurboJPEGError(.encodeFailed, "there is no recipe for these pixels")

    /// Returns the pixels of a frame scaled, rotated and with the watermark, in their own format.
    func prepare(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe?
    ) throws(TurboJPEGError) -> (image: PixelBuffer, orientation: FrameOrientation) {
        guard let recipe, let content = content.pixels else { throw Self.missingRecipe }
        let own = recipe.image.keeping(content.format)
        let workspace = workspace.withLock { $0.prepared(for: own) }
        let scaled = try own.scaled(content, pool: workspace.scaled)
        return try finished(consume scaled, own, orientation, workspace)
    }

    /// Returns a scaled image rotated and with the watermark, which is drawn on a copy if the image is somebody else's.
    private func finished(
        _ image: consuming PixelBuffer,
        _ recipe: ImageRecipe,
        _ orientation: FrameOrientation,
        _ workspace: EncodingWorkspace
    ) throws(TurboJPEGError) -> (image: PixelBuffer, orientation: FrameOrientation) {
        if recipe.appliesOrientation { image = try image.upright(from: orientation, pool: workspace.upright) }
        if let placement = recipe.watermark {
            let format = image.format
            let watermark = try self.workspace.withLock { workspace throws(TurboJPEGError) in
                try workspace.watermark(placement, format)
            }
            try watermark.draw(on: &image, pool: workspace.marked)
        }
        return (image, recipe.appliesOrientation ? .up : orientation)
    }

    private func encode(
        _ image: consuming PixelBuffer,
        _ steps: ImageRecipe,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe,
        _ damage: RowSet?,
        _ quality: Int?
    ) throws(TurboJPEGError) -> FrameMessage {
        let workspace = self.workspace.withLock { $0.prepared(for: steps) }
        // Every step releases its input, so that a large image does not outlive its scaling.
        image = try steps.scaled(image, pool: workspace.scaled)
        let (image, orientation) = try finished(consume image, steps, orientation, workspace)
        var encoder = workspace.encoder
        encoder.quality = quality ?? recipe.settings.quality
        encoder.subsampling = recipe.settings.subsampling
        let capacity = try encoder.maximumByteCount(width: image.width, height: image.height)
        let jpeg = try FrameBytes(capacity: capacity, pool: workspace.bytes) { output throws(TurboJPEGError) in
            guard output.freeCapacity >= capacity else {
                throw TurboJPEGError(.allocationFailed, "not enough memory for a JPEG of up to \(capacity) bytes")
            }
            if recipe.settings.allowsStrips {
                let changes = try workspace.strips.encode(image, with: encoder, damage: damage, into: &output)
                self.workspace.withLock { $0.changedPart = Double(changes.codedCount) / Double(changes.stripCount) }
            } else {
                try encoder.encode(image, into: &output)
            }
        }
        return FrameMessage(jpeg: jpeg, info: FrameInfo(bufferSize: image.size, orientation: orientation))
    }

    /// Decodes a JPEG at the smallest sufficient size, and encodes it.
    private func encode(
        _ jpeg: FrameBytes,
        _ output: OutputPlan,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe,
        _ quality: Int?
    ) throws(TurboJPEGError) -> FrameMessage {
        let (factor, output) = output.scaledDecoding()
        let decoder = workspace.withLock { $0.decoder(for: output.image) }
        let image = try jpeg.withSpan { jpeg throws(TurboJPEGError) in
            try decoder.decode(jpeg, as: recipe.settings.decodedFormat(of: jpeg), scale: factor)
        }
        var steps = ImageRecipe(output, image.format, orientation, recipe.settings)
        steps.watermark = recipe.image.watermark
        return try encode(consume image, steps, orientation, recipe, nil, quality)
    }

    /// Rotates a JPEG losslessly if its size allows, otherwise by decoding it.
    private func rotate(
        _ jpeg: FrameBytes,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe,
        _ quality: Int?
    ) throws(TurboJPEGError) -> FrameMessage {
        do {
            let upright = try UprightJPEG(jpeg, orientation, edges: .perfect, limits: .ownFiles)
            return FrameMessage(jpeg: upright.jpeg, info: FrameInfo(bufferSize: upright.size))
        } catch  where error.code == .transformFailed || error.code == .unsupported {
            let header = try jpeg.withSpan { jpeg throws(TurboJPEGError) in try JPEGHeader(inspecting: jpeg) }
            let size = BufferSize(width: header.width, height: header.height)
            return try encode(jpeg, OutputPlan(size), orientation, recipe, quality)
        }
    }
}

extension EncodingRecipe.Settings {
    /// Returns the pixel format that avoids unnecessary conversions.
    fileprivate func decodedFormat(of jpeg: Span<UInt8>) throws(TurboJPEGError) -> PixelFormat {
        let header = try JPEGHeader(inspecting: jpeg)
        if subsampling == .gray || header.subsampling == .gray { return .gray }
        return subsampling == .yuv420 && header.subsampling == .yuv420 ? .i420 : .bgrx
    }
}
