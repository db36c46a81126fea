/// How high the strips are that a picture is cut into.
public enum StripHeight: Sendable, Hashable {
    /// Low strips where little changes, so that little has to be compressed again, and higher ones where all does, as each strip
    /// costs some microseconds of its own.
    case automatic
    /// So many rows of MCUs, one at least; fewer where a strip would have more than 65,535 MCUs.
    case mcuRows(Int)
}
