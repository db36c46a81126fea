/// A sender's report on its state, in answer to a request: a message without a body.
///
/// A sender writes such messages only to a receiver that has said hello; see ``ControlRequest/hello(_:)``.
public struct SenderStatus: Sendable, Hashable {
    /// The state of a sender: the word in the field `Sender-State`.
    public enum State: Sendable, Hashable {
        /// `live`: The sender sends what the receiver wants.
        case live
        /// `paused`: The sender sends neither frames nor audio until it is asked to resume.
        case paused
        /// `stopped`: The sender sends nothing more and closes; the reason is in the field `Finish-Reason`.
        case stopped(ControlRequest.FinishReason)
    }

    /// The state of the sender: the fields `Sender-State` and `Finish-Reason`.
    public var state: State

    /// The number of the ping that this status answers, if any: the field `Pong-Number`.
    public var pong: UInt64?

    /// The number of ``ControlRequest/prefer(_:)`` requests that the sender has refused on this connection, because a
    /// field in them was invalid or because it has no memory for them: the field `Refused-Preferences`, which is
    /// omitted if there were none.
    public var refusedPreferences: UInt64 = 0

    /// The version of the control channel that the sender supports, 1 to 9,999: the field `Control-Version`.
    public var version: Int

    /// Creates a status without checking the values; a decoder may reject them.
    public init(state: State, pong: UInt64? = nil, version: Int = ControlRequest.Hello.currentVersion) {
        self.state = state
        self.pong = pong
        self.version = version
    }
}

extension SenderStatus: WireMessage {
    package mutating func code(with coder: inout some FieldCoder) {
        coder.begin(.status)
        var (word, reason): (StateWord, ControlRequest.FinishReason) = (.stopped, .error)
        switch state {
        case .live: word = .live
        case .paused: word = .paused
        case .stopped(let stated): reason = stated
        }
        coder.code(.state, &word)
        switch word {
        case .live: state = .live
        case .paused: state = .paused
        case .stopped: state = .stopped(coder.read(reason))
        }
        coder.code(.version, &version)
        coder.code(.pong, &pong)
        var refused = refusedPreferences > 0 ? refusedPreferences : nil
        coder.code(.refusedPreferences, &refused)
        refusedPreferences = refused ?? 0
    }
}

/// The states that `Sender-State` distinguishes.
enum StateWord: String, CaseIterable {
    case live, paused, stopped
}
