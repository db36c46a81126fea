/// The size of an image in pixels, as stated in the fields `Buffer-Width` and `Buffer-Height`.
///
/// The JPEG in the body may be one pixel wider or taller: deployed senders round the size in the fields down and the
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
