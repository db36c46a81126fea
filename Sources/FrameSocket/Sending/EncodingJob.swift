package import FrameTransport
package import FrameWire
package import TurboJPEG

/// A frame to encode, or to copy to a shared buffer.
package struct EncodingJob: Sendable {
    /// How the content's hash is used.
    package enum Comparison: Sendable, Hashable {
        /// No hash is needed.
        case none
        /// Compute the hash, to compare later frames with it.
        case compute
        /// Do not encode content with this hash: the receiver has it.
        case against(UInt64)
    }

    /// The content, to be taken out for encoding.
    package var content: FrameContent?
    /// Its orientation.
    package let orientation: FrameOrientation
    /// Which hash is needed.
    package let comparison: Comparison
    /// The recipe; nil if the content stays unchanged.
    package let recipe: EncodingRecipe?
    /// The quality to encode it at; nil for the recipe's.
    package let quality: Int?
    /// The shared buffer to copy the content to; nil to encode it.
    package let place: Sharing.Place?
    /// The rows of the result that may differ from that of the last job of its kind; nil if any may.
    package let rows: RowSet?
}

/// The result of an ``EncodingJob``.
package enum EncodingResult: Sendable {
    /// The content's JPEG, with its size and orientation, and how much of it was encoded anew, if it consists of strips.
    case encoded(FrameMessage, digest: UInt64?, changedPart: Double? = nil)
    /// The content has been copied to its shared buffer.
    case shared(SharedCopy, digest: UInt64?)
    /// The system has no memory to share.
    case notShared
    /// The content equals what it was compared with, and is returned.
    case unchanged(FrameContent, digest: UInt64)
    /// The content cannot be encoded.
    case failed(TurboJPEGError)
}

extension EncodingJob {
    /// Compares and encodes the content, and releases it, or copies it to its shared buffer.
    mutating func encode(
        with encoder: FrameEncoder,
        _ digester: FrameDigester,
        _ sharing: SharedBufferStore
    ) -> EncodingResult {
        guard let content = content.take() else {
            return .failed(TurboJPEGError(.encodeFailed, "the frame has been encoded before"))
        }
        var digest: UInt64?
        switch comparison {
        case .none: break
        case .compute: digest = digester.digest(content, orientation: orientation)
        case .against(let reference):
            let found = digester.digest(content, orientation: orientation)
            guard found != reference else { return .unchanged(content, digest: found) }
            digest = found
        }
        do throws(TurboJPEGError) {
            guard let place else {
                let (message, changedPart) = try encoder.encode(consume content, orientation, recipe, rows, quality)
                return .encoded(message, digest: digest, changedPart: changedPart)
            }
            guard let memory = try? sharing.memory(of: place) else { return .notShared }
            let (image, orientation) = try encoder.prepare(content, orientation, recipe)
            return .shared(try sharing.copy(image, orientation, to: place, in: memory, rows), digest: digest)
        } catch {
            return .failed(error)
        }
    }
}
