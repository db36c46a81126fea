import FrameWire

@testable import FrameSocket

/// What a frame needs and becomes under a configuration, without an uploader.
extension FrameEncoder {
    func encode(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: SampleUploader.Configuration
    ) throws(TurboJPEGError) -> EncodedImage {
        try encode(content, orientation, plan(content, orientation, configuration))
    }

    func memoryNeed(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: SampleUploader.Configuration
    ) -> MemoryNeed {
        plan(content, orientation, configuration)?.need
            ?? MemoryNeed(content: content.byteCount, total: content.byteCount)
    }

    private func plan(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: SampleUploader.Configuration
    ) -> EncodingPlan? {
        let settings = EncodingPlan.Settings(configuration)
        return EncodingPlan(content, orientation, settings, limit: configuration.maximumMemory ?? .max)
    }
}
