/// What a message states of its frame, whether the pixels are in its body or in a shared buffer.
public struct FrameInfo: Sendable, Hashable {
    /// The size of the image, which a JPEG may exceed by a pixel: the fields `Buffer-Width` and `Buffer-Height`.
    public var bufferSize: BufferSize

    /// The orientation of the image: the field `Buffer-Orientation`.
    public var orientation: FrameOrientation

    /// The presentation time of the frame, in nanoseconds of the sender's clock: `Buffer-Presentation-Time`.
    ///
    /// This field is specific to this project, and existing Jitsi peers skip it; nil omits it.
    public var timestamp: UInt64?

    /// The sequence number of the frame, counted by the sender: `Buffer-Sequence`.
    ///
    /// This field is specific to this project, and existing Jitsi peers skip it; nil omits it.
    public var sequence: UInt64?

    /// Creates the values without checking them; a decoder may reject them.
    public init(
        bufferSize: BufferSize,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil
    ) {
        (self.bufferSize, self.orientation) = (bufferSize, orientation)
        (self.timestamp, self.sequence) = (timestamp, sequence)
    }
}

extension FrameInfo {
    /// Writes the fields of the image, which come first in existing senders.
    func writeImage(to writer: inout HeaderWriter) {
        writer.append("\r\nBuffer-Width: ", UInt64(clamping: bufferSize.width))
        writer.append("\r\nBuffer-Height: ", UInt64(clamping: bufferSize.height))
        writer.append("\r\nBuffer-Orientation: ", UInt64(orientation.rawValue))
    }

    /// Writes the fields of the time and the number, if they are set, which come last.
    func writeTiming(to writer: inout HeaderWriter) {
        if let timestamp { writer.append("\r\nBuffer-Presentation-Time: ", timestamp) }
        if let sequence { writer.append("\r\nBuffer-Sequence: ", sequence) }
    }
}

/// The size of an image in pixels, as stated in the fields `Buffer-Width` and `Buffer-Height`.
///
/// The JPEG in the body may be one pixel wider or taller: existing Jitsi senders round the size in the fields down and the
/// size of the image up.
public struct BufferSize: Sendable, Hashable {
    /// The number of pixels in a row.
    public var width: Int

    /// The number of rows.
    public var height: Int

    /// Creates a size of `width` by `height` pixels without checking the values.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
