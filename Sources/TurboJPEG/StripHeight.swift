/// The height of the strips that an image is divided into.
package enum StripHeight: Sendable, Hashable {
    /// One row of MCUs: changes are enclosed closely, and a strip has no cost of its own.
    case automatic
    /// This many rows of MCUs, at least one; fewer if a strip would have more than 65,535 MCUs.
    case mcuRows(Int)
}
