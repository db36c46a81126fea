extension PixelBuffer {
    /// A rectangular part of an image, in pixels from its top left corner.
    ///
    /// Any values are allowed: a function that takes one says what it does with a part outside the image.
    public struct Rectangle: Sendable, Hashable {
        /// The number of pixels to its left.
        public var x: Int
        /// The number of pixels above it.
        public var y: Int
        /// The width in pixels.
        public var width: Int
        /// The height in pixels.
        public var height: Int

        /// Creates a rectangle without validation.
        public init(x: Int, y: Int, width: Int, height: Int) {
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }
    }
}
