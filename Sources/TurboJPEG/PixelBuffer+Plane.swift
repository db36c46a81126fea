extension PixelBuffer {
    /// The shape of one plane of a `PixelBuffer`.
    ///
    /// Row `y` begins at byte `y * bytesPerRow` of the plane, and its samples take `width * bytesPerSample` bytes.
    public struct Plane: Sendable, Hashable {
        /// The number of samples in a row: pixels in packed formats, chroma samples or pairs of them in chroma planes.
        public let width: Int
        /// The number of rows.
        public let height: Int
        /// The distance from one row to the next, in bytes.
        public let bytesPerRow: Int
        /// The number of bytes of one sample.
        public let bytesPerSample: Int

        /// The number of bytes of a row that hold samples; the rest, up to `bytesPerRow`, is padding.
        public var visibleBytesPerRow: Int { width * bytesPerSample }

        /// The number of bytes from the first sample to the last; the padding after the last row is not counted.
        public var byteCount: Int { (height - 1) * bytesPerRow + visibleBytesPerRow }
    }
}
