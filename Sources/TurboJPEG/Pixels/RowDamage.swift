/// The rows in which an image may differ from an earlier one.
package struct RowDamage: Sendable {
    /// The number of the image; 0 if it has none.
    package let image: UInt64
    /// The number of the earlier image.
    package let base: UInt64
    /// The rows; nil if any row may differ.
    package let rows: RowSet?

    /// Creates the damage of an image that may differ in these rows from the image with the number `base`.
    package init(image: UInt64, base: UInt64, rows: RowSet?) {
        (self.image, self.base, self.rows) = (image, base, rows)
    }

    /// Returns the rows, if the image that was seen last is the earlier one.
    package func rows(since last: UInt64) -> RowSet? { base == last && last > 0 ? rows : nil }
}
