package import FrameWire
package import TurboJPEG

/// The rows of an image in which it may differ from an earlier one.
///
/// The memory does not depend on the number of rectangles that they come from.
package struct ImageDamage: Sendable, Hashable {
    /// The size of the image.
    package let size: BufferSize
    /// The rows.
    package private(set) var rows: RowSet

    /// Creates the damage of an image in which nothing has changed.
    package init(noneOf size: BufferSize) {
        self.init(size: size, rows: RowSet(height: size.height))
    }

    /// Creates the damage of an image of this size; of the rectangles, only what lies within the image counts.
    package init(_ rectangles: [PixelBuffer.Rectangle], of size: BufferSize) {
        self.init(noneOf: size)
        for rectangle in rectangles where !rectangle.x.range(ofCount: rectangle.width, within: size.width).isEmpty {
            rows.insert(rectangle.y.range(ofCount: rectangle.height, within: size.height))
        }
    }

    private init(size: BufferSize, rows: RowSet) {
        (self.size, self.rows) = (size, rows)
    }

    /// Whether nothing has changed.
    package var isEmpty: Bool { rows.isEmpty }

    /// Adds the damage of another image of the same size.
    package mutating func formUnion(_ other: ImageDamage) {
        rows.formUnion(other.rows)
    }
}

/// The damage of what is made of an image.
extension ImageDamage {
    /// Returns the damage of the image with a plan applied; nil if the plan is for another size.
    func applying(_ plan: OutputPlan) -> ImageDamage? {
        guard plan.image == size else { return nil }
        return ImageDamage(size: plan.canvas, rows: rows.mapped(to: plan.canvas.height, plan.rows(of:)))
    }

    /// Returns the rows of the upright image, given its orientation in this buffer; nil if its rows are columns here.
    func upright(from orientation: FrameOrientation) -> RowSet? {
        guard !orientation.swapsAxes else { return nil }
        return orientation.reversesRows ? rows.reversed(size.height) : rows
    }
}

extension OutputPlan {
    /// The number of rows around each, of the image and of the scaled one, that may depend on it: one is interpolated with
    /// its neighbor, in planes of chroma that have half as many, and large images are scaled in two steps.
    private static let reach = 4

    /// Returns the rows of the canvas that may differ if rows of the image do.
    fileprivate func rows(of range: Range<Int>) -> Range<Int> {
        var (first, end) = (range.lowerBound - part.y, range.upperBound - part.y)
        if part.width != scaled.width || part.height != scaled.height {
            first = max(0, first - Self.reach) * scaled.height / part.height - Self.reach
            end = (max(0, end + Self.reach) * scaled.height + part.height - 1) / part.height + Self.reach
        }
        (first, end) = (max(0, first), min(end, scaled.height))
        return first < end ? first + place.y..<end + place.y : 0..<0
    }

    /// Returns the pairs of rows of the canvas that may differ if rows of the image do.
    func rows(changedBy ranges: [Range<Int>]) -> [Range<Int>] {
        var rows = RowSet(height: image.height)
        for range in ranges { rows.insert(range) }
        return rows.mapped(to: canvas.height, self.rows(of:)).ranges
    }
}

extension RowSet {
    /// Returns the pairs of rows, of an image of another height, that each range of rows is mapped to.
    fileprivate func mapped(to height: Int, _ target: (Range<Int>) -> Range<Int>) -> RowSet {
        var result = RowSet(height: height)
        for range in ranges {
            let rows = target(range)
            guard !rows.isEmpty else { continue }
            // The chroma of an odd row is that of the row above.
            let pairs = rows.lowerBound - rows.lowerBound % 2..<rows.upperBound + rows.upperBound % 2
            result.insert(pairs.clamped(to: 0..<height))
        }
        return result
    }

    /// Returns the rows of the image in the opposite order.
    fileprivate func reversed(_ height: Int) -> RowSet {
        mapped(to: height) { height - $0.upperBound..<height - $0.lowerBound }
    }
}

extension Int {
    /// Returns the part of the range that begins here and has `count` elements that lies within a side; empty for a
    /// negative count.
    fileprivate func range(ofCount count: Int, within side: Int) -> Range<Int> {
        let (sum, overflows) = addingReportingOverflow(Swift.max(0, count))
        let end = Swift.min(overflows ? .max : sum, side)
        let start = Swift.max(0, self)
        return start < end ? start..<end : 0..<0
    }
}
