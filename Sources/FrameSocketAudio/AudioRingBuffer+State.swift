extension AudioRingBuffer {
    /// The state of the audio flow from a source to its consumer.
    public enum State: Sendable, Hashable {
        /// No audio other than silence has been pulled yet.
        case idle
        /// The last pull got every frame that it requested.
        case flowing
        /// Audio ran out, and silence replaces it.
        case starving
    }
}
