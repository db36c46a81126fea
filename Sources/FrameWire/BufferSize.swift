/// The size of a picture in pixels, as the fields `Buffer-Width` and `Buffer-Height` state it.
///
/// The JPEG in the body may be one pixel wider or taller than this: deployed senders round the size of the fields
/// down and the size of the image up.
public struct BufferSize: Sendable, Hashable {
    /// Pixels in a row.
    public var width: Int

    /// Rows.
    public var height: Int

    /// Creates a size of `width` by `height` pixels; nothing is checked here.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
