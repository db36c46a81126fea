/// The header of a frame: the length of its body, and the image in it.
public struct FrameHeader: Sendable, Hashable {
    /// The length of the body in bytes, including padding: the field `Content-Length`.
    public var contentLength: Int

    /// The size of the image, which the JPEG may exceed by a pixel: the fields `Buffer-Width` and `Buffer-Height`.
    public var bufferSize: BufferSize

    /// The orientation of the image: the field `Buffer-Orientation`.
    public var orientation: FrameOrientation

    /// The presentation timestamp of the frame, in nanoseconds of the sender's clock: `Buffer-Presentation-Time`.
    ///
    /// This field is specific to this project, and deployed peers skip it; nil omits it.
    public var timestamp: UInt64?

    /// The sequence number of the frame, counted by the sender: `Buffer-Sequence`.
    ///
    /// This field is specific to this project, and deployed peers skip it; nil omits it.
    public var sequence: UInt64?

    /// Creates a header without checking the values; a decoder may reject them.
    public init(
        contentLength: Int,
        bufferSize: BufferSize,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil
    ) {
        self.contentLength = contentLength
        self.bufferSize = bufferSize
        self.orientation = orientation
        self.timestamp = timestamp
        self.sequence = sequence
    }
}
