internal import FrameWire

extension SenderMachine {
    /// What a machine is told once.
    package struct Settings: Sendable {
        /// The endpoint, as errors name it.
        package var name: String
        /// Nanoseconds between two attempts to connect.
        package var retryInterval: UInt64
        /// Nanoseconds that one attempt to connect may take.
        package var connectTimeout: UInt64
        /// Nanoseconds that the server may take to show its token.
        package var handshakeTimeout: UInt64
        /// Nanoseconds for which the server may take nothing of a message.
        package var sendTimeout: UInt64
        /// Nanoseconds that an orderly end may take.
        package var linger: UInt64
        /// Whether to connect again after the connection was lost, or ended by the server.
        package var reopens: Bool
        /// What both sides show each other; nil for nothing.
        package var tokens: HandshakeTokens?

        /// The settings of a connection, with the defaults of ``SocketConnection/Configuration``.
        package init(name: String) {
            self.name = name
            retryInterval = 100_000_000
            connectTimeout = 2_000_000_000
            handshakeTimeout = 5_000_000_000
            sendTimeout = 10_000_000_000
            linger = 1_000_000_000
            reopens = true
            tokens = nil
        }
    }

    /// Why an attempt to connect failed, if something says so.
    enum AttemptFailure {
        case system(Errno)
        /// The server closed in place of its token: it expects another one, or has no place.
        case turnedAway
    }

    /// Somebody who waits for the connection to open.
    struct Waiter {
        let id: Int
        let limit: Duration?
        let deadline: UInt64?
    }

    /// Where a connection stands.
    enum State {
        case idle
        /// Between two attempts to connect.
        case waiting(until: UInt64)
        /// The system makes the connection, and says who is at its other end.
        case connecting(until: UInt64)
        case handshaking(Handshake)
        case open(Session)
        case ending(Ending)
        case closed(CloseReason)
    }

    /// Both sides show their tokens.
    struct Handshake {
        /// What is still to come of the server's token.
        var token: TokenReader
        /// Where the rest of this side's token begins; nil when all of it is out.
        var unsentOffset: Int?
        let until: UInt64
    }

    /// A connection that is open.
    struct Session {
        /// Reads the server's requests; nil once it said something else, as a plain server may.
        var decoder: ControlDecoder?
        /// How the receiver introduced itself; nil if it did not.
        var hello: ControlHello?
        /// How many of its preferences were refused.
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

    /// How the messages of an open connection get on.
    enum Sending {
        /// Nothing waits for room.
        case flowing
        /// The socket was full when so many bytes had been written.
        case stalled(bytesWritten: Int, until: UInt64)
        /// A write has failed; what there is to read may say why the server ended, or that it asks for no more.
        case broken(Errno, until: UInt64)
    }

    /// An end in order.
    struct Ending {
        let reason: CloseReason
        let until: UInt64
        var awaiting: Awaiting
        var next: Afterwards
        /// Whether frames could be sent before.
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
        /// The messages that were accepted before; the peer has ended.
        case ownBytes
        /// The end of the peer's stream; all messages are out.
        case peersEnd
    }

    /// What follows an end.
    enum Afterwards {
        case reopen
        case close
        /// As `reopen`, but the program has closed the connection meanwhile.
        case closeLocally(FinishReason)
    }

    /// What is left of a turn, which keeps one peer from holding up the others of its thread.
    struct Turn {
        private var readsLeft = readsPerTurn
        var requestsLeft = requestsPerTurn
        /// Whether the next turn has been asked for: until it comes nothing more is read.
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
        case .closed(.failed(let error)): .failed(error)
        case .closed: .closed
        }
    }
}
