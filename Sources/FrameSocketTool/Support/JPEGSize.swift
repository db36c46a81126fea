import FrameSocket
import JPEGStreams

extension BufferSize {
    /// The size of a JPEG that is passed on as it is.
    ///
    /// Whether it can be decoded is up to whoever decodes it: cameras write headers that decoders read although they break
    /// the rules.
    ///
    /// - Throws: An error if it states no size.
    init(ofJPEG jpeg: Span<UInt8>) throws(TurboJPEGError) {
        if let size = JPEGStreamReader.size(of: jpeg) {
            self.init(width: size.width, height: size.height)
        } else {
            // It says what is wrong.
            let header = try JPEGHeader(inspecting: jpeg)
            self.init(width: header.width, height: header.height)
        }
    }
}
