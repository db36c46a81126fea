import FrameTransport
import FrameWire

@testable import FrameSocket

/// What a frame needs and becomes under a configuration, without an uploader.
extension FrameEncoder {
    func encode(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: SampleUploader.Configuration
    ) throws(TurboJPEGError) -> FrameMessage {
        try encode(content, orientation, recipe(content, orientation, configuration))
    }

    func memoryNeed(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: SampleUploader.Configuration
    ) -> MemoryNeed {
        recipe(content, orientation, configuration)?.need
            ?? MemoryNeed(content: content.byteCount, total: content.byteCount)
    }

    private func recipe(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: SampleUploader.Configuration
    ) -> EncodingRecipe? {
        let settings = EncodingRecipe.Settings(configuration)
        return EncodingRecipe(content, orientation, settings, limit: configuration.maximumMemory ?? .max)
    }
}
