/// A part of an image.
public struct PixelRectangle: Sendable, Hashable {
    /// Pixels to the left of it.
    public var x: Int
    /// Pixels above it.
    public var y: Int
    /// Pixels in a row of it.
    public var width: Int
    /// Rows of it.
    public var height: Int

    /// Creates a rectangle; nothing is checked here.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}
