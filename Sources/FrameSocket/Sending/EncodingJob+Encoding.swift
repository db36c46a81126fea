internal import TurboJPEG

extension EncodingJob {
    /// Compares and encodes the content, and releases it.
    ///
    /// If the job has a lease, the content is copied to its buffer in `sharing` instead, and `onRelease` is called when
    /// nothing refers to it any longer.
    mutating func encode(
        with encoder: FrameEncoder,
        _ digester: FrameDigester,
        _ sharing: SharedBufferStore? = nil,
        onRelease: @escaping @Sendable (SharedPool.Lease) -> Void = { _ in }
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
        if let lease, let sharing {
            guard let claim = try? sharing.claim(lease, isNew: needsNewMemory, onRelease: onRelease) else {
                return .notShared(content)
            }
            do throws(TurboJPEGError) {
                let (image, orientation) = try encoder.prepare(consume content, orientation, plan)
                return .shared(try sharing.fill(claim, with: image), orientation, digest: digest)
            } catch {
                return .failed(error)
            }
        }
        do throws(TurboJPEGError) {
            return .encoded(try encoder.encode(consume content, orientation, plan), digest: digest)
        } catch {
            return .failed(error)
        }
    }
}
