package import FrameWire
package import TurboJPEG

/// The part of an image that may differ from the one submitted before, or from any older one.
///
/// It is kept as the rows and the columns of its rectangles, in a bounded amount of memory: what lies in one of the rows
/// and in one of the columns may have changed.
package struct ImageDamage: Sendable, Hashable {
    /// What determines whether two images can be compared at all.
    package struct Subject: Sendable, Hashable {
        let size: BufferSize
        let format: PixelFormat
        let orientation: FrameOrientation
        /// The color space of the samples of an image that is copied when it is submitted; nil for any other image.
        var color: PixelBuffer.Color?
        /// How such an image is copied.
        var copy: Copy?
    }

    /// The size and the format in which an image is copied.
    package struct Copy: Sendable, Hashable {
        let output: OutputPlan
        let format: PixelFormat
    }

    package internal(set) var subject: Subject
    /// The rows of the image.
    package private(set) var rows: RowSet
    /// The columns of the image, which are the rows of the turned one.
    package private(set) var columns: RowSet

    /// Creates the damage of an image; of the rectangles only what lies within the image counts.
    package init(
        _ rectangles: [PixelBuffer.Rectangle],
        of image: PixelBuffer,
        _ orientation: FrameOrientation,
        color: PixelBuffer.Color? = nil
    ) {
        let size = BufferSize(width: image.width, height: image.height)
        subject = Subject(size: size, format: image.format, orientation: orientation, color: color)
        (rows, columns) = (RowSet(height: image.height), RowSet(height: image.width))
        for rectangle in rectangles {
            let columns = rectangle.x.range(ofCount: rectangle.width, within: image.width)
            let rows = rectangle.y.range(ofCount: rectangle.height, within: image.height)
            guard !columns.isEmpty, !rows.isEmpty else { continue }
            self.rows.insert(rows)
            self.columns.insert(columns)
        }
    }

    /// Whether nothing has changed.
    package var isEmpty: Bool { rows.isEmpty }

    /// Adds the damage of another image of the same subject.
    mutating func formUnion(_ other: ImageDamage) {
        rows.formUnion(other.rows)
        columns.formUnion(other.columns)
    }
}

extension Int {
    /// Returns the part of the range that begins here and has `count` elements that lies within a side, which is empty
    /// for a negative count.
    fileprivate func range(ofCount count: Int, within side: Int) -> Range<Int> {
        let (sum, overflows) = addingReportingOverflow(Swift.max(0, count))
        let end = Swift.min(overflows ? .max : sum, side)
        let start = Swift.max(0, self)
        return start < end ? start..<end : 0..<0
    }
}
