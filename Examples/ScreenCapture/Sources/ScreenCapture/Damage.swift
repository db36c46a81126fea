import FrameSocket

/// The parts of an image that have changed: rectangles, no two of which have a row in common.
///
/// Rectangles beside each other become one, since strips of an image, as rows of memory, reach from one side to the other.
struct Damage {
    private(set) var rectangles: [PixelBuffer.Rectangle] = []

    var isEmpty: Bool { rectangles.isEmpty }

    mutating func add(_ rectangle: PixelBuffer.Rectangle) {
        guard rectangle.width > 0, rectangle.height > 0 else { return }
        var union = rectangle
        rectangles.removeAll { other in
            guard other.y < rectangle.bottom, rectangle.y < other.bottom else { return false }
            union = union.union(other)
            return true
        }
        rectangles.append(union)
    }

    mutating func add(_ other: Damage) {
        for rectangle in other.rectangles { add(rectangle) }
    }

    /// The rectangles without the rows that lie in others.
    func subtracting(_ others: [PixelBuffer.Rectangle]) -> [PixelBuffer.Rectangle] {
        others.reduce(rectangles) { rest, hole in
            rest.flatMap { part -> [PixelBuffer.Rectangle] in
                guard hole.x <= part.x, part.right <= hole.right, hole.y < part.bottom, part.y < hole.bottom else {
                    return [part]
                }
                var (above, below) = (part, part)
                above.height = max(0, hole.y - part.y)
                below.y = min(hole.bottom, part.bottom)
                below.height = part.bottom - below.y
                return [above, below].filter { $0.height > 0 }
            }
        }
    }
}

extension PixelBuffer.Rectangle {
    var right: Int { x + width }
    var bottom: Int { y + height }

    /// The smallest rectangle that has both in it.
    func union(_ other: Self) -> Self {
        let (left, top) = (min(x, other.x), min(y, other.y))
        return Self(x: left, y: top, width: max(right, other.right) - left, height: max(bottom, other.bottom) - top)
    }

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
