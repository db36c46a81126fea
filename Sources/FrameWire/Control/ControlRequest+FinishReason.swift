extension ControlRequest {
    /// The reason a session ended, for both sides.
    ///
    /// The raw value is a stable code that travels in the field `Finish-Reason`; 10001 is the code that Jitsi's client uses
    /// for an orderly stop. A code never changes its meaning.
    public enum FinishReason: Int, Sendable, CaseIterable, Hashable {
        /// 10001: The person who shares the screen stopped.
        case stoppedByUser = 10_001
        /// 10002: The receiver asked to end the session.
        case requestedByHost
        /// 10003: The connection broke.
        case disconnected
        /// 10004: The two sides have no version of the control channel in common.
        case versionMismatch
        /// 10005: One side's token is not the one that the other side expects.
        case tokenRejected
        /// 10006: The call that the frames were for is over.
        case callEnded
        /// 10007: Another sender took this one's place.
        case superseded
        /// 10008: There is no receiver to send to.
        case noHost
        /// 10009: The system suspended one side.
        case suspended
        /// 10010: Another error occurred.
        case error

        /// The codes of all reasons, which are consecutive.
        static let codes = stoppedByUser.rawValue...error.rawValue

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

        /// Whether somebody intended the session to end, so that there is no error to report to a person.
        ///
        /// True for ``stoppedByUser``, ``requestedByHost``, ``callEnded``, ``superseded`` and ``suspended``. The other five
        /// ended or prevented a session that both sides wanted.
        public var isOrderly: Bool {
            switch self {
            case .stoppedByUser, .requestedByHost, .callEnded, .superseded, .suspended: true
            case .disconnected, .versionMismatch, .tokenRejected, .noHost, .error: false
            }
        }
    }
}

extension ControlRequest.FinishReason: CustomStringConvertible {
    /// A description for a person, in one sentence.
    public var description: String {
        switch self {
        case .stoppedByUser: "Screen sharing stopped."
        case .requestedByHost: "The app that shows the screen ended screen sharing."
        case .disconnected: "The connection to the other side was lost."
        case .versionMismatch: "The versions of the two sides are incompatible."
        case .tokenRejected: "The other side did not prove that it belongs to this session."
        case .callEnded: "The call has ended."
        case .superseded: "Another screen is being shared instead."
        case .noHost: "No app is running to show the screen."
        case .suspended: "The system suspended screen sharing."
        case .error: "Screen sharing failed."
        }
    }
}
