internal import TurboJPEG

extension EncodingJob {
    /// Compares and encodes the content, and releases it.
    mutating func encode(with encoder: FrameEncoder, _ digester: FrameDigester) -> EncodingResult {
        guard let content = content.take() else {
            return .failed(TurboJPEGError(.encodeFailed, "The frame has been encoded before."))
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
            return .encoded(try encoder.encode(consume content, orientation, plan), digest: digest)
        } catch {
            return .failed(error)
        }
    }
}
