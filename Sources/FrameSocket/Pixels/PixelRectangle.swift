/// A rectangular part of an image.
package struct PixelRectangle: Sendable, Hashable {
    /// The number of pixels to its left.
    package var x: Int
    /// The number of pixels above it.
    package var y: Int
    /// The width in pixels.
    package var width: Int
    /// The height in pixels.
    package var height: Int

    /// Creates a rectangle without validation.
    package init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}
