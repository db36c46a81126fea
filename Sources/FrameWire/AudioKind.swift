/// The source of the audio in a message; the raw value is the word in the field `Audio-Kind`.
public enum AudioKind: String, Sendable, CaseIterable, Hashable {
    /// The audio of the shared app or screen.
    case app
    /// The voice of the person who is sharing.
    case microphone
}
