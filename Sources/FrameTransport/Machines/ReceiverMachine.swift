package import FrameWire

/// Makes every decision on the receiving end of one connection: the handshake, what is read when and for how long, what
/// waits for the consumer or for memory, the deadlines, the requests to the sender, and the end.
///
/// The shell reports events. The machine calls a ``System`` to carry out what it decides, and sets ``deadline`` and
/// ``watchesRoom``, which the shell compares with what it has set after each event.
package struct ReceiverMachine: ~Copyable {
    /// The limits of one turn before other connections have theirs.
    package struct Turn: Sendable {
        package static let messages = 16
        package static let reads = 64
        package static let bytes = 512 << 10

        var messagesLeft = Turn.messages
        var readsLeft = Turn.reads
        var bytesLeft = Turn.bytes

        var isOver: Bool { messagesLeft <= 0 || readsLeft <= 0 || bytesLeft <= 0 }
    }

    /// The configuration of a connection, fixed before it begins.
    package struct Configuration: Sendable {
        package var limits = FrameServer.Limits()
        package var expectedToken: [UInt8]?
        package var hello: ControlRequest.Hello?
        /// What this side states about itself, after the hello.
        package var info = ControlRequest.SessionInfo()
        /// The part of the memory budget that the connection may take without a request.
        package var allowance = Int.max / 2
        /// The largest body that can be granted.
        package var largestGrant = Int.max / 2
        /// Whether a reset preserves everything sent before it, as over a Unix-domain socket.
        package var resetKeepsData = true
        /// Whether the sender may share memory.
        package var acceptsSharedMemory = false

        package init() {}
    }

    /// The gate that controls reading.
    enum Gate {
        /// Open; the number of frames that may still be delivered, nil if unknown.
        case open(room: Int?)
        /// The consumer has no room.
        case awaitingRoom
        /// A large body waits for the program to take the connection.
        case awaitingProgram
        /// A large body waits for memory, which was requested under this number.
        case awaitingMemory(request: Int)
    }

    enum State {
        case handshaking(TokenReader)
        case receiving(Gate)
        /// This side ends the connection once what has arrived is delivered.
        case draining(Gate)
        /// This side has ended the connection, for this reason, and reads until the peer's end.
        case lingering(CloseReason)
        case closed(CloseReason)

        var gate: Gate? {
            switch self {
            case .receiving(let gate), .draining(let gate): gate
            case .handshaking, .lingering, .closed: nil
            }
        }
    }

    /// What the sender is doing, for which its time is limited.
    struct Phase: Equatable {
        let part: FrameAssembler.Phase
        let messages: Int
        let mustSpeak: Bool
    }

    let configuration: Configuration
    var state: State
    var assembler: FrameAssembler
    var turn = Turn()
    var hasYielded = false
    var now: UInt64 = 0

    /// Whether the program has taken the connection.
    var isTaken = false
    /// The number of the latest request for memory.
    var lastRequest = 0

    /// Whether the socket may have more: reports come once per change, so this stays set until a read finds nothing.
    var mayRead = false
    /// Whether everything that the peer sends has arrived.
    var hasHungUp = false
    /// The length of a body whose header has come, until it may be read.
    var pendingBody: Int?
    /// The bytes that may be waiting for the consumer: those waiting at the last reservation, and those delivered
    /// since.
    var burstByteCount = 0

    /// The requests waiting to be written.
    package internal(set) var outbox = RequestOutbox()
    /// A reset that a write of requests encountered, over TCP.
    var resetError: Errno?
    var hasSaidHello = false
    var hasStatedInfo = false
    var wants = ControlRequest.Wants.frames
    var hasPaused = false
    var stopReason: ControlRequest.FinishReason?
    var drainReason = CloseReason.closedLocally(.stoppedByUser)
    /// The buffers that the sender shares.
    package internal(set) var shared: SharedBuffers
    /// The time at which ``deadlinePassed(_:)`` is to be called; nil for never.
    package internal(set) var deadline: UInt64?
    /// What the sender had been doing when its deadline was set; nil if it has none.
    var deadlinePhase: Phase?
    /// Whether that deadline has passed.
    var isOverdue = false

    /// Creates the machine of a connection that has just been accepted; call ``start(_:)`` first.
    package init(_ configuration: Configuration, pool: FrameBytes.Pool, tally: DecodingTally? = nil) {
        self.configuration = configuration
        assembler = FrameAssembler(limits: configuration.limits.wire, pool: pool, tally: tally)
        shared = SharedBuffers(isAccepting: configuration.acceptsSharedMemory)
        state = .receiving(.open(room: nil))
        if let token = configuration.expectedToken { state = .handshaking(TokenReader(expecting: token)) }
    }
}

extension ReceiverMachine {
    /// Whether frames may arrive: immediately, or after the sender has sent its token.
    package var isReady: Bool { state.gate != nil }

    /// The reason for the connection's end; nil while it lasts.
    package var closeReason: CloseReason? {
        if case .closed(let reason) = state { reason } else { nil }
    }

    /// Whether the shell has to call ``becameReady(_:_:)`` when the socket has room.
    package var watchesRoom: Bool { isReady && !outbox.bytes.isEmpty }

    /// The number of complete messages of any kind.
    package var messages: Int { assembler.messages }

    /// The memory of the body in progress, in bytes.
    package var heldByteCount: Int { assembler.heldByteCount }

    /// The size of the largest body that needs no grant: two fit in the allowance, with audio if it is wanted.
    package var share: Int { (configuration.allowance - audioAllowance) / 2 }

    /// The bytes of audio that may wait: none unless audio was requested.
    package var audioAllowance: Int { wants.contains(.audio) ? Self.audioAllowance(of: configuration.allowance) : 0 }

    /// Returns the part of an allowance that is for audio, if wanted.
    package static func audioAllowance(of allowance: Int) -> Int { allowance / 8 }
}
