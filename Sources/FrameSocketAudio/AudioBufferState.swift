/// Whether a source's audio reaches those who pull it.
public enum AudioBufferState: Sendable, Hashable {
    /// Nothing has been pulled that was not silence.
    case idle
    /// The last pull got all that it asked for.
    case flowing
    /// Audio ran out, and silence stands in for it.
    case starving
}
