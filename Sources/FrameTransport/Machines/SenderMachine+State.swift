package import FrameWire

extension SenderMachine {
    /// The fixed settings of a machine.
    package struct Settings: Sendable {
        /// The name of the endpoint in errors.
        package var name: String
        /// The time between two attempts to connect, in nanoseconds.
        package var retryInterval: UInt64 = 100_000_000
        /// The time allowed for one attempt to connect, in nanoseconds.
        package var connectTimeout: UInt64 = 2_000_000_000
        /// The time allowed for the server to send its token, in nanoseconds.
        package var handshakeTimeout: UInt64 = 5_000_000_000
        /// The time for which the server may read nothing of a message, in nanoseconds.
        package var sendTimeout: UInt64 = 10_000_000_000
        /// The time allowed for an orderly end, in nanoseconds.
        package var linger: UInt64 = 1_000_000_000
        /// Whether to reconnect after the connection was lost, or ended by the server.
        package var reopens = true
        /// The tokens that both sides exchange; nil for none.
        package var tokens: HandshakeTokens?
        /// Whether descriptors can be passed to the receiver.
        package var sharesMemory = false

        /// Creates settings with the defaults of ``SocketConnection/Configuration``.
        package init(name: String) { self.name = name }
    }

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
        let id: Int
        let limit: Duration?
        let deadline: UInt64?
        /// When it began to wait.
        let start: UInt64

        /// Whether the caller gets no attempt if the next one is at this time: every caller gets one at least.
        func givesUp(by next: UInt64) -> Bool { deadline.map { $0 <= next } ?? false }
    }

    /// The state of a connection.
    enum State {
        case idle
        /// Between two attempts to connect.
        case waiting(until: UInt64)
        /// The system is making the connection, and identifying the peer.
        case connecting(until: UInt64)
        case handshaking(Handshake)
        case open(Session)
        case ending(Ending)
        case closed(CloseReason)
    }

    /// The exchange of tokens.
    struct Handshake {
        /// Reads the server's token.
        var token: TokenReader
        /// The offset of the unsent rest of this side's token; nil when all of it is sent.
        var unsentOffset: Int?
        let until: UInt64
    }

    /// An open connection.
    struct Session {
        /// Decodes the server's requests; nil once it has sent something else, as a plain server may.
        var decoder: ControlDecoder?
        /// The receiver's hello; nil if it sent none.
        var hello: ControlRequest.Hello?
        /// Whether the receiver takes no frames in shared memory for the rest of the connection.
        var declinesSharedMemory = false
        /// The number of its refused preferences.
        var refusedPreferences: UInt64 = 0
        var sending = Sending.flowing

        var isStalled: Bool { if case .stalled = sending { true } else { false } }

        var deadline: UInt64? {
            switch sending {
            case .flowing: nil
            case .stalled(_, let until), .broken(_, let until): until
            }
        }
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
        let wasOpen: Bool

        init(
            _ reason: CloseReason,
            until: UInt64,
            awaiting: Awaiting,
            next: Afterwards,
            wasOpen: Bool = true
        ) {
            (self.reason, self.until, self.awaiting, self.next) = (reason, until, awaiting, next)
            self.wasOpen = wasOpen
        }
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
        private var readsLeft = readsPerTurn
        var requestsLeft = requestsPerTurn
        /// Whether the next turn has been requested; nothing more is read until then.
        var isAskedFor = false

        mutating func begin() {
            if !isAskedFor { (readsLeft, requestsLeft) = (readsPerTurn, requestsPerTurn) }
        }

        mutating func takeRead() -> Bool {
            guard readsLeft > 0, requestsLeft > 0 else { return false }
            readsLeft -= 1
            return true
        }

        mutating func askForAnother() -> Bool {
            defer { isAskedFor = true }
            return !isAskedFor
        }
    }
}

extension SenderMachine.State {
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

    package init() {}
}
