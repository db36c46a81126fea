/// How high the strips are that a picture is cut into.
public enum StripHeight: Sendable, Hashable {
    /// One row of MCUs: what has changed is enclosed closely, and no strip costs anything of its own.
    case automatic
    /// So many rows of MCUs, one at least; fewer where a strip would have more than 65,535 MCUs.
    case mcuRows(Int)
}
