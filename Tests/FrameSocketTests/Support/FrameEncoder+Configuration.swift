import FrameTransport
import FrameWire

@testable import FrameSocket

/// What a frame becomes under a configuration, without an uploader.
extension FrameEncoder {
    func encode(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: SampleUploader.Configuration
    ) throws(TurboJPEGError) -> FrameMessage {
        try encode(content, orientation, recipe(content, orientation, configuration))
    }

    private func recipe(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: SampleUploader.Configuration
    ) -> EncodingRecipe? {
        EncodingRecipe(content, orientation, EncodingRecipe.Settings(configuration))
    }
}
