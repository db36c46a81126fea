package import FrameWire
package import TurboJPEG

/// The part of an image in which it may differ from an earlier one.
///
/// Kept as the rows and the columns of all rectangles, in memory that does not depend on their number: what lies both in
/// one of the rows and in one of the columns may differ.
package struct ImageDamage: Sendable, Hashable {
    /// The size of the image.
    package let size: BufferSize
    /// The rows of the image.
    package private(set) var rows: RowSet
    /// The columns of the image, which are the rows of one that is rotated by a quarter.
    package private(set) var columns: RowSet

    /// Creates the damage of an image in which nothing has changed.
    package init(noneOf size: BufferSize) {
        self.init(size: size, rows: RowSet(height: size.height), columns: RowSet(height: size.width))
    }

    /// Creates the damage of an image of this size; of the rectangles, only what lies within the image counts.
    package init(_ rectangles: [PixelBuffer.Rectangle], of size: BufferSize) {
        self.init(noneOf: size)
        for rectangle in rectangles {
            let columns = rectangle.x.range(ofCount: rectangle.width, within: size.width)
            let rows = rectangle.y.range(ofCount: rectangle.height, within: size.height)
            guard !columns.isEmpty, !rows.isEmpty else { continue }
            self.rows.insert(rows)
            self.columns.insert(columns)
        }
    }

    private init(size: BufferSize, rows: RowSet, columns: RowSet) {
        (self.size, self.rows, self.columns) = (size, rows, columns)
    }

    /// Whether nothing has changed.
    package var isEmpty: Bool { rows.isEmpty }

    /// Adds the damage of another image of the same size.
    package mutating func formUnion(_ other: ImageDamage) {
        rows.formUnion(other.rows)
        columns.formUnion(other.columns)
    }
}

/// The damage of what is made of an image.
extension ImageDamage {
    /// Returns the damage of the image with a plan applied; nil if the plan is for another size.
    ///
    /// It consists of whole pairs of rows and columns, which share their chroma.
    func applying(_ plan: OutputPlan) -> ImageDamage? {
        guard plan.image == size else { return nil }
        let (part, scaled, place, canvas) = (plan.part, plan.scaled, plan.place, plan.canvas)
        let isScaled = (part.width, part.height) != (scaled.width, scaled.height)
        let (across, down) = (
            SideScale(start: part.x, count: part.width, scaled: scaled.width, place: place.x, isScaled: isScaled),
            SideScale(start: part.y, count: part.height, scaled: scaled.height, place: place.y, isScaled: isScaled)
        )
        return ImageDamage(
            size: canvas,
            rows: rows.mapped(to: canvas.height, down.target),
            columns: columns.mapped(to: canvas.width, across.target)
        )
    }

    /// Returns the damage of the upright image, given its orientation in this buffer.
    func upright(from orientation: FrameOrientation) -> ImageDamage {
        let rows = orientation.reversesRows ? rows.reversed(size.height) : rows
        let columns = orientation.reversesColumns ? columns.reversed(size.width) : columns
        return ImageDamage(
            size: size.oriented(by: orientation),
            rows: orientation.swapsAxes ? columns : rows,
            columns: orientation.swapsAxes ? rows : columns
        )
    }
}

/// How one side of a part of an image is scaled and placed on a canvas.
private struct SideScale {
    /// The number of rows around each, of the image and of the scaled one, that may depend on it: one is interpolated with
    /// its neighbor, large images are scaled in two steps, and the ratio of chroma is a little different.
    private static let reach = 3

    let start: Int
    let count: Int
    let scaled: Int
    let place: Int
    let isScaled: Bool

    /// Returns the rows of the canvas that depend on rows of the image.
    func target(of range: Range<Int>) -> Range<Int> {
        var (first, end) = (range.lowerBound - start, range.upperBound - start)
        if isScaled {
            first = max(0, first - Self.reach) * scaled / count - Self.reach
            end = (max(0, end + Self.reach) * scaled + count - 1) / count + Self.reach
        }
        (first, end) = (max(0, first), min(end, scaled))
        return first < end ? first + place..<end + place : 0..<0
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
