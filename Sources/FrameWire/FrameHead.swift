/// The head of a frame: how many bytes of body follow, and what picture they are.
public struct FrameHead: Sendable, Hashable {
    /// The bytes of the body, padding included: the field `Content-Length`.
    public var contentLength: Int

    /// The size of the picture, which the JPEG may exceed by a pixel: the fields `Buffer-Width` and `Buffer-Height`.
    public var bufferSize: BufferSize

    /// How the picture lies: the field `Buffer-Orientation`.
    public var orientation: FrameOrientation

    /// When the picture is to be shown, in nanoseconds of the sender's clock: `Buffer-Presentation-Time`.
    ///
    /// A field of this project, which deployed peers skip; nil leaves it out.
    public var presentationTime: UInt64?

    /// The number of the picture, counted by the sender: `Buffer-Sequence`.
    ///
    /// A field of this project, which deployed peers skip; nil leaves it out.
    public var sequence: UInt64?

    /// Creates a head; nothing is checked here, and a decoder may refuse what it says.
    public init(
        contentLength: Int,
        bufferSize: BufferSize,
        orientation: FrameOrientation = .up,
        presentationTime: UInt64? = nil,
        sequence: UInt64? = nil
    ) {
        self.contentLength = contentLength
        self.bufferSize = bufferSize
        self.orientation = orientation
        self.presentationTime = presentationTime
        self.sequence = sequence
    }
}
