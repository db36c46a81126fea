import CXCB
import FrameSocket

extension PixelBuffer.Rectangle {
    init(_ rectangle: xcb_rectangle_t) {
        self.init(
            x: Int(rectangle.x),
            y: Int(rectangle.y),
            width: Int(rectangle.width),
            height: Int(rectangle.height)
        )
    }

    var right: Int { x + width }
    var bottom: Int { y + height }
    /// Its rows; none if it has no pixels.
    var rows: RangeSet<Int> { width > 0 && height > 0 ? RangeSet(y..<bottom) : RangeSet() }

    /// What both have in common; without width or height if that is nothing.
    func intersection(_ other: Self) -> Self {
        let (left, top) = (max(x, other.x), max(y, other.y))
        return Self(
            x: left,
            y: top,
            width: max(0, min(right, other.right) - left),
            height: max(0, min(bottom, other.bottom) - top)
        )
    }

    func moved(x dx: Int, y dy: Int) -> Self { Self(x: x + dx, y: y + dy, width: width, height: height) }
}

extension RangeSet<Int> {
    init(_ range: Range<Int>) {
        self.init()
        insert(contentsOf: range)
    }
}
