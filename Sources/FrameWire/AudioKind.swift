/// What sound an audio message holds; the raw value is the word in the field `Audio-Kind`.
public enum AudioKind: String, Sendable, CaseIterable, Hashable {
    /// The sound that the shared app or screen makes.
    case app
    /// The voice of the person who shares.
    case microphone
}
