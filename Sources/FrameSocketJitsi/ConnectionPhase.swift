/// Whether a connection is open, and which one it is.
///
/// Every event names the connection that it is about, because it may come after that connection has been replaced.
enum ConnectionPhase<Connection: AnyObject> {
    /// Closed, or not opened yet.
    case idle
    /// An attempt is in progress.
    case opening(Connection)
    case open(Connection)
    /// The path can never be opened, which has been reported.
    case impossible

    /// What happens with a new attempt.
    enum Beginning {
        case begun(Connection)
        case alreadyOpen
        case refused
    }

    /// The open connection; nil if there is none.
    var open: Connection? {
        if case .open(let connection) = self { connection } else { nil }
    }

    mutating func begin(_ make: () -> Connection) -> Beginning {
        switch self {
        case .idle:
            let attempt = make()
            self = .opening(attempt)
            return .begun(attempt)
        case .open: return .alreadyOpen
        case .opening, .impossible: return .refused
        }
    }

    /// Returns false if the attempt was closed meanwhile.
    mutating func opened(_ attempt: Connection) -> Bool {
        guard case .opening(let current) = self, current === attempt else { return false }
        self = .open(attempt)
        return true
    }

    /// Returns whether the failure is to be reported: one after which no attempt can succeed.
    mutating func failed(_ attempt: Connection, isFinal: Bool) -> Bool {
        guard case .opening(let current) = self, current === attempt else { return false }
        self = isFinal ? .impossible : .idle
        return isFinal
    }

    /// Returns whether the end is to be reported: not if this side has closed.
    mutating func ended(_ connection: Connection) -> Bool {
        guard case .open(let current) = self, current === connection else { return false }
        self = .idle
        return true
    }

    /// Closes, and returns the connection to close.
    mutating func close() -> Connection? {
        switch self {
        case .opening(let connection), .open(let connection):
            self = .idle
            return connection
        case .idle, .impossible: return nil
        }
    }
}
