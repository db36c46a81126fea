import FrameWire
import TurboJPEG

@testable import FrameSocket
@testable import FrameTransport

/// What a frame becomes under a configuration, without an uploader.
extension FrameEncoder {
    func encode(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: SampleUploader.Configuration
    ) throws(TurboJPEGError) -> FrameMessage {
        try encode(content, orientation, EncodingRecipe(content, orientation, .init(configuration))).message
    }
}

extension Frame {
    /// A frame with this JPEG, as it arrives over a connection or, without one, from nowhere.
    init(
        _ jpeg: FrameBytes,
        _ size: BufferSize,
        _ orientation: FrameOrientation = .up,
        of connection: DecodingTally? = nil
    ) {
        let header = FrameHeader(
            contentLength: jpeg.count,
            info: FrameInfo(bufferSize: size, orientation: orientation)
        )
        self.init(.jpeg(jpeg), header: header, index: 0, receivedAt: 0, transferTime: 0, tally: connection)
    }
}

extension FrameDecoder {
    /// A decoder that makes images upright, or not.
    convenience init(isUpright: Bool, jpeg: JPEGDecoder = JPEGDecoder()) {
        var configuration = Configuration()
        (configuration.isUpright, configuration.jpeg) = (isUpright, jpeg)
        self.init(configuration: configuration)
    }
}
