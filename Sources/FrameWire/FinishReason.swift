/// Why a session ended, for both of its sides.
///
/// The raw value is a stable code and travels in the field `Finish-Reason`; 10001 is the one that Jitsi's client gives
/// an orderly stop. A code once given keeps its meaning.
public enum FinishReason: Int, Sendable, CaseIterable, Hashable {
    /// 10001: who shares the screen stopped.
    case stoppedByUser = 10_001
    /// 10002: the receiver asked for the end.
    case requestedByHost
    /// 10003: the connection broke.
    case disconnected
    /// 10004: the two sides have no version of the control channel in common.
    case versionMismatch
    /// 10005: one side's token is not the one that the other expects.
    case tokenRejected
    /// 10006: the call that the pictures were for is over.
    case callEnded
    /// 10007: another sender took this one's place.
    case superseded
    /// 10008: there is no receiver to send to.
    case noHost
    /// 10009: the system put one side to rest.
    case suspended
    /// 10010: something else went wrong.
    case error

    /// The stable name, such as `stoppedByUser`, for programs to print and compare.
    public var name: String {
        switch self {
        case .stoppedByUser: "stoppedByUser"
        case .requestedByHost: "requestedByHost"
        case .disconnected: "disconnected"
        case .versionMismatch: "versionMismatch"
        case .tokenRejected: "tokenRejected"
        case .callEnded: "callEnded"
        case .superseded: "superseded"
        case .noHost: "noHost"
        case .suspended: "suspended"
        case .error: "error"
        }
    }

    /// Whether somebody meant the session to end, so that no person need be told of an error.
    ///
    /// True of ``stoppedByUser``, ``requestedByHost``, ``callEnded``, ``superseded`` and ``suspended``. The other five
    /// kept a session from going on, or from beginning, that both sides wanted.
    public var isOrderly: Bool {
        switch self {
        case .stoppedByUser, .requestedByHost, .callEnded, .superseded, .suspended: true
        case .disconnected, .versionMismatch, .tokenRejected, .noHost, .error: false
        }
    }
}

extension FinishReason: CustomStringConvertible {
    /// A sentence for a person.
    public var description: String {
        switch self {
        case .stoppedByUser: "Screen sharing stopped."
        case .requestedByHost: "The app that shows the screen ended the sharing."
        case .disconnected: "The connection to the other side was lost."
        case .versionMismatch: "The two sides are of versions that do not work together."
        case .tokenRejected: "The other side did not prove that it belongs to this session."
        case .callEnded: "The call is over."
        case .superseded: "Another screen is shared instead."
        case .noHost: "No app is there to show the screen."
        case .suspended: "The system suspended the sharing."
        case .error: "Screen sharing failed."
        }
    }
}
