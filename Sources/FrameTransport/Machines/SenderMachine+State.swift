package import FrameWire

extension SenderMachine {
    /// The known reason that an attempt to connect failed.
    enum AttemptFailure {
        case system(Errno)
        /// The server closed instead of sending its token: it expects a different one, or has no place.
        case turnedAway
        /// The connection was made, and the handshake was not finished.
        case unanswered
    }

    /// A caller that waits for the connection to open.
    struct Waiter {
        let opening: Opening
        /// When it began to wait.
        let start: UInt64

        /// Whether its time is up at `time`; that of one attempt is when none is under way.
        func givesUp(by time: UInt64, duringAttempt: Bool = false) -> Bool {
            opening.deadline.map { $0 <= time } ?? (opening.limit != nil && !duringAttempt)
        }
    }

    /// The state of a connection.
    enum State {
        case idle
        /// Between two attempts to connect.
        case waiting(until: UInt64)
        /// The system is making the connection, and identifying the peer.
        case connecting(until: UInt64)
        case handshaking(Handshake)
        case open(Sending)
        case ending(Ending)
        case closed(CloseReason)

        /// When it is over, if nothing happens before.
        var deadline: UInt64? {
            switch self {
            case .waiting(let until), .connecting(let until): until
            case .handshaking(let handshake): handshake.until
            case .open(.stalled(_, let until)), .open(.broken(_, let until)): until
            case .ending(let ending): ending.until
            case .idle, .open(.flowing), .closed: nil
            }
        }

        var published: SocketConnection.State {
            switch self {
            case .idle: .idle
            case .waiting, .connecting: .started
            case .handshaking: .handshaking
            case .open: .connected
            case .ending(let ending): ending.wasOpen ? .connected : .handshaking
            case .closed(let reason): .ended(reason)
            }
        }
    }

    /// The exchange of tokens.
    struct Handshake {
        /// Reads the server's token.
        var token: TokenReader
        /// The offset of the unsent rest of this side's token; nil when all of it is sent.
        var unsentOffset: Int? = 0
        let until: UInt64
    }

    /// The sending progress of an open connection.
    enum Sending {
        /// Nothing waits for room.
        case flowing
        /// The socket was full after this many bytes had been written.
        case stalled(bytesWritten: Int, until: UInt64)
        /// A write has failed; unread input may say why the server ended, or that it requests the end.
        case broken(Errno, until: UInt64)
    }

    /// An orderly end.
    struct Ending {
        let reason: CloseReason
        let until: UInt64
        var awaiting: Awaiting
        var next: Afterwards
        /// Whether frames could be sent before it.
        var wasOpen = true
    }

    /// What an orderly end still waits for.
    enum Awaiting {
        case ownBytesAndPeersEnd
        /// The messages accepted before; the peer has ended.
        case ownBytes
        /// The end of the peer's stream; every message has been written.
        case peersEnd
    }

    /// What follows an end.
    enum Afterwards {
        case reopen
        case close
        /// As `reopen`, but the program has closed the connection meanwhile.
        case closeLocally(ControlRequest.FinishReason)
    }

    /// The rest of a turn; turns keep one peer from holding up the others on its thread.
    struct Turn {
        var reads = readsPerTurn
        var requests = requestsPerTurn
        /// Whether the next turn has been requested; nothing more is read until then.
        var isOver = false
    }
}

/// The terms of a sender's connection: what the receiver has stated, and what the connection allows.
///
/// Terms last exactly as long as the receiver: they start from the defaults when a connection opens, and are discarded
/// when it ends. Every value is a complete snapshot, so an observer that misses one loses nothing.
package struct ReceiverTerms: Sendable, Hashable {
    /// The number of changes; of two snapshots the one with the higher revision is newer.
    package var revision: UInt64 = 0

    /// The number of the connection, counted from 1 over the life of a `SocketConnection`; 0 before the first.
    package var connection = 0

    /// Whether the connection is open.
    package var isConnected = false

    /// What the receiver wants; a receiver that sent no hello wants frames.
    package var wants = ControlRequest.Wants.frames

    /// Whether the receiver has requested a pause.
    package var isPaused = false

    /// The receiver's preferences.
    package var preferences = ControlRequest.Preferences()

    /// The number of immediate frames that this receiver has requested.
    package var refreshes = 0

    /// Whether the receiver has sent a hello.
    package var isGreeted = false

    /// Whether frames can be sent in shared memory if the receiver accepts them: known as soon as the connection opens.
    package var mayShareMemory = false

    /// Whether the receiver accepts frames in shared memory.
    package var acceptsSharedMemory = false

    /// The number of releases of each shared buffer, modulo 2^32.
    package var releases = SIMD8<UInt32>()

    /// The current demand: nothing without a receiver, or during a pause.
    package var demand: ControlRequest.Wants { isConnected && !isPaused ? wants : [] }

    /// Creates the terms of a new receiver, or of none.
    package init(connection: Int = 0, isConnected: Bool = false, mayShareMemory: Bool = false) {
        (self.connection, self.isConnected, self.mayShareMemory) = (connection, isConnected, mayShareMemory)
    }
}
