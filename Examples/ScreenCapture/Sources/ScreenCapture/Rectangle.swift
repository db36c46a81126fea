import FrameSocket

extension PixelBuffer.Rectangle {
    init(_ x: some BinaryInteger, _ y: some BinaryInteger, _ width: some BinaryInteger, _ height: some BinaryInteger) {
        self.init(x: Int(x), y: Int(y), width: Int(width), height: Int(height))
    }

    var right: Int { x + width }
    /// Its rows; none if it has no pixels.
    var rows: RangeSet<Int> { width > 0 && height > 0 ? RangeSet(y..<y + height) : RangeSet() }

    /// What both have in common; without width or height if that is nothing.
    func intersection(_ other: Self) -> Self {
        let (left, top) = (max(x, other.x), max(y, other.y))
        let (width, height) = (min(right, other.right) - left, min(y + height, other.y + other.height) - top)
        return Self(left, top, max(0, width), max(0, height))
    }

    /// The same rectangle in the coordinates that begin at a corner.
    func from(_ corner: (x: Int, y: Int)) -> Self { Self(x - corner.x, y - corner.y, width, height) }
}
