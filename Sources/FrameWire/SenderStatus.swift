/// What a sender says about itself, in answer to a request: a message without a body.
///
/// A sender writes such messages only to a receiver that said hello, see ``ControlRequest/hello(_:)``.
public struct SenderStatus: Sendable, Hashable {
    /// What a sender does; the word in the field `Sender-State`.
    public enum State: Sendable, Hashable {
        /// `live`: it sends what the receiver wants.
        case live
        /// `paused`: it sends neither pictures nor sound until it is asked to resume.
        case paused
        /// `stopped`: it sends nothing more and closes; why is in the field `Finish-Reason`.
        case stopped(FinishReason)
    }

    /// What the sender does: the fields `Sender-State` and `Finish-Reason`.
    public var state: State

    /// The number of the ping that this answers, if it answers one: the field `Pong-Number`.
    public var pong: UInt64?

    /// How many requests to ``ControlRequest/prefer(_:)`` the sender has refused on this connection, since a field in them was
    /// wrong: the field `Refused-Preferences`, which is left out if there were none.
    public var refusedPreferences: UInt64 = 0

    /// The version of the control channel that the sender speaks, 1 to 9,999: the field `Control-Version`.
    public var version: Int

    /// Creates a status; nothing is checked here, and a decoder may refuse what it says.
    public init(state: State, pong: UInt64? = nil, version: Int = ControlHello.currentVersion) {
        self.state = state
        self.pong = pong
        self.version = version
    }
}

extension SenderStatus {
    /// The bytes that ``encode(into:)`` appends for this message.
    public var encodedByteCount: Int { HeadWriter.count(of: write) }

    /// Appends the message as it stands on the wire, from the status line to the blank line; it has no body.
    ///
    /// A negative version is written as 0; whether a decoder takes another is not checked.
    ///
    /// - Returns: false, with nothing appended, where `output` has no room for ``encodedByteCount`` bytes.
    @discardableResult
    public func encode(into output: inout OutputSpan<UInt8>) -> Bool { HeadWriter.append(to: &output, write) }

    /// Returns the message as it stands on the wire.
    public func encoded() -> [UInt8] {
        [UInt8](capacity: encodedByteCount) { output in _ = encode(into: &output) }
    }

    private func write(to writer: inout HeadWriter) {
        writer.append("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nMessage-Type: status\r\nSender-State: ")
        switch state {
        case .live: writer.append("live")
        case .paused: writer.append("paused")
        case .stopped(let reason):
            writer.append("stopped\r\nFinish-Reason: ", UInt64(clamping: reason.rawValue))
        }
        writer.append("\r\nControl-Version: ", UInt64(clamping: version))
        if let pong { writer.append("\r\nPong-Number: ", pong) }
        if refusedPreferences > 0 { writer.append("\r\nRefused-Preferences: ", refusedPreferences) }
        writer.append("\r\n\r\n")
    }
}
