internal import FrameTransport
internal import FrameWire
internal import Locking
internal import TurboJPEG

/// Prepares frames as their recipes say, one at a time, in reused memory.
final class FrameEncoder: Sendable {
    /// A JPEG with its size and orientation, and how much of it was encoded anew, from 0 to 1; nil if it was encoded whole.
    typealias Result = (message: FrameMessage, changedPart: Double?)

    private let last = Locked<EncodingWorkspace?>(nil)

    /// The workspace of the last image that was scaled or encoded.
    var workspace: EncodingWorkspace? { last.withLock { $0 } }

    /// Returns the workspace for a recipe and a format; a new one if the last images had another size or format.
    func workspace(for recipe: EncodingRecipe, _ format: PixelFormat) -> EncodingWorkspace {
        last.withLock { last in
            if let last, last.fits(recipe, format) { return last }
            let workspace = EncodingWorkspace(recipe, format)
            last = workspace
            return workspace
        }
    }

    /// Returns the JPEG of a frame; without a recipe the content is one, and stays unchanged.
    ///
    /// The quality is the recipe's unless another is given. Releases the content as soon as it is no longer needed: unless
    /// it is kept for another receiver, nothing holds a large image while its JPEG is encoded.
    func encode(
        _ content: consuming FrameContent,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe?,
        _ damage: RowSet? = nil,
        _ quality: Int? = nil
    ) throws(TurboJPEGError) -> Result {
        switch consume content {
        case .pixels(let image), .scaled(let image, _):
            guard let recipe else { throw Self.missingRecipe }
            return try encode(image, orientation, recipe, damage, quality)
        case .jpeg(let jpeg, let size), .resizableJPEG(let jpeg, let size):
            guard let recipe else {
                return (FrameMessage(jpeg: jpeg, info: FrameInfo(bufferSize: size, orientation: orientation)), nil)
            }
            return try encode(jpeg, orientation, recipe, quality)
        }
    }

    private static let missingRecipe = TurboJPEGError(.encodeFailed, "there is no recipe for these pixels")

    /// Returns the pixels of a frame scaled, rotated and with the watermark, in their own format.
    func prepare(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe?
    ) throws(TurboJPEGError) -> (image: PixelBuffer, orientation: FrameOrientation) {
        guard let recipe, let image = content.pixels else { throw Self.missingRecipe }
        let workspace = workspace(for: recipe, image.format)
        return (
            try prepare(image, as: image.format, orientation, recipe, workspace),
            recipe.appliesOrientation ? .up : orientation
        )
    }

    /// Every step releases its input, so that a large image does not outlive its scaling.
    private func prepare(
        _ image: consuming PixelBuffer,
        as format: PixelFormat,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe,
        _ workspace: EncodingWorkspace
    ) throws(TurboJPEGError) -> PixelBuffer {
        image = try recipe.scaled(image, as: format, pool: workspace.scaled)
        if recipe.appliesOrientation { image = try image.upright(from: orientation, pool: workspace.upright) }
        // On a copy if the image is somebody else's.
        try workspace.watermark(at: recipe.watermark)?.draw(on: &image, pool: workspace.marked)
        return image
    }

    private func encode(
        _ image: consuming PixelBuffer,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe,
        _ damage: RowSet?,
        _ quality: Int?
    ) throws(TurboJPEGError) -> Result {
        let format = recipe.format ?? image.format
        let workspace = workspace(for: recipe, format)
        let image = try prepare(consume image, as: format, orientation, recipe, workspace)
        let settings = recipe.settings
        let encoder = JPEGEncoder(quality: quality ?? settings.quality, subsampling: settings.subsampling)
        var changedPart: Double?
        let capacity = try encoder.maximumByteCount(width: image.width, height: image.height)
        let jpeg = try FrameBytes(capacity: capacity, pool: workspace.bytes) { output throws(TurboJPEGError) in
            guard output.freeCapacity >= capacity else {
                throw TurboJPEGError(.allocationFailed, "not enough memory for a JPEG of up to \(capacity) bytes")
            }
            if settings.allowsStrips {
                let changes = try workspace.strips.encode(image, with: encoder, damage: damage, into: &output)
                changedPart = Double(changes.codedCount) / Double(changes.stripCount)
            } else {
                try encoder.encode(image, into: &output)
            }
        }
        let stated = recipe.appliesOrientation ? FrameOrientation.up : orientation
        return (FrameMessage(jpeg: jpeg, info: FrameInfo(bufferSize: image.size, orientation: stated)), changedPart)
    }

    /// Rotates a JPEG losslessly if nothing else is to be done and its size allows; otherwise decodes it at the smallest
    /// sufficient size, and encodes it.
    private func encode(
        _ jpeg: FrameBytes,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe,
        _ quality: Int?
    ) throws(TurboJPEGError) -> Result {
        var output: OutputPlan? = recipe.output
        if recipe.output.isIdentity, recipe.watermark == nil {
            do {
                let upright = try UprightJPEG(jpeg, orientation, edges: .perfect, limits: .ownFiles)
                return (FrameMessage(jpeg: upright.jpeg, info: FrameInfo(bufferSize: upright.size)), nil)
            } catch  where error.code == .transformFailed || error.code == .unsupported {
                // The program may have stated another size.
                output = nil
            }
        }
        let header = try jpeg.withSpan { jpeg throws(TurboJPEGError) in try JPEGHeader(inspecting: jpeg) }
        let whole = OutputPlan(BufferSize(width: header.width, height: header.height))
        let (factor, plan) = (output ?? whole).scaledDecoding()
        let format = recipe.settings.decodedFormat(of: header)
        let decoded = recipe.decoded(as: format, plan, orientation)
        let decoder = workspace(for: decoded, decoded.format ?? format).decoder
        let image = try jpeg.withSpan { jpeg throws(TurboJPEGError) in
            try decoder.decode(jpeg, as: format, scale: factor)
        }
        return try encode(consume image, orientation, decoded, nil, quality)
    }
}

extension EncodingRecipe.Settings {
    /// Returns the pixel format that avoids unnecessary conversions.
    fileprivate func decodedFormat(of header: JPEGHeader) -> PixelFormat {
        if subsampling == .gray || header.subsampling == .gray { return .gray }
        return subsampling == .yuv420 && header.subsampling == .yuv420 ? .i420 : .bgrx
    }
}
