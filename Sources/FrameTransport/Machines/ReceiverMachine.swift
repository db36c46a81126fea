package import FrameWire

/// Makes every decision on the receiving end of one connection: the handshake, what is read when and for how long, what
/// waits for the consumer or for memory, the deadlines, the requests to the sender, and the end.
///
/// The shell reports events, and executes the commands from ``nextCommand()`` until there are no more.
package struct ReceiverMachine: ~Copyable {
    /// A command to the shell.
    package enum Command {
        /// Read at most this many bytes of the token; report with ``didReadToken(_:at:)`` or as for a read.
        case readToken(count: Int)
        /// Keep the connection's place at the server, which may have been revoked, and report with
        /// ``didKeepPlace(_:at:)``.
        case keepPlace
        /// Write this side's token, and report with ``didWriteToken(_:at:)``.
        case writeToken
        /// Present the connection to the program: frames may arrive from now on.
        case present
        /// Ask the consumer's side how many frames it has room for, optionally after it has taken what waits there, and
        /// report with ``reserved(_:behind:)``.
        case reserveRoom(onceEmpty: Bool)
        /// Read once into ``readTargets()``, and report with ``didRead(_:into:isShort:at:)``, ``wouldBlock(at:)``,
        /// ``endOfStream()`` or ``readFailed(_:)``.
        case read
        /// Deliver a frame; if `more` may follow in this run, its consumer can be woken at the end of the run.
        case deliver(Frame, more: Bool)
        /// Deliver a frame in a shared buffer, with its image; report ``bufferReleased(_:)`` when that is released.
        ///
        /// Indirect, so that every other command takes fewer bytes.
        indirect case deliverShared(Frame, SharedFrameHeader, more: Bool)
        /// Map the first descriptor that has arrived, and report with ``bufferMapped(_:)`` or ``bufferRefused(_:)``.
        case mapBuffer(SharedFrameHeader.Buffer)
        /// Close the first descriptor that has arrived.
        case dropDescriptor
        /// Release every shared buffer that the program does not hold.
        case unmapBuffers
        case deliverAudio(AudioMessage)
        case deliverStatus(SenderStatus)
        /// Count an audio message that was requested, but exceeds the memory for audio.
        case countDroppedAudio
        /// Request a part of the memory budget; report with ``memoryGranted(_:for:at:)`` and this number, now or later.
        case askForMemory(byteCount: Int, request: Int)
        /// Cancel the last request for memory, which may have been granted already.
        case withdrawRequestForMemory
        /// Write what ``outbox`` holds, and report with ``didWriteRequests(_:)``.
        case writeRequests
        /// Start or stop reporting when the socket has room.
        case watchRoom(Bool)
        case setDeadline(UInt64?)
        case shutDownSending
        case shutDownReceiving
        /// Read and discard, and report with ``didDiscard()``, ``wouldBlock(at:)``, ``endOfStream()`` or
        /// ``readFailed(_:)``.
        case discard
        /// Let other connections have their turns, then call ``resume(at:)``.
        case yield
        /// Deliver nothing further; the consumer keeps what it has not taken yet.
        case endDelivery
        /// Close the socket, and report the reason. This is the last command.
        case close(CloseReason)
    }

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
        /// The sender's token was valid: the place is being kept, and this side's token written.
        case showingToken
        case receiving(Gate)
        /// This side ends the connection once what has arrived is delivered.
        case draining(Gate)
        /// This side has ended the connection, for this reason, and reads until the peer's end.
        case lingering(CloseReason)
        case closed(CloseReason)

        var gate: Gate? {
            switch self {
            case .receiving(let gate), .draining(let gate): gate
            case .handshaking, .showingToken, .lingering, .closed: nil
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
    var commands: [Command] = []
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
    var watchesRoom = false
    /// A reset that a write of requests encountered, over TCP.
    var resetError: Errno?
    var hasSaidHello = false
    var wants = ControlRequest.Wants.frames
    var hasPaused = false
    var stopReason: FinishReason?
    var drainReason = CloseReason.closedLocally(.stoppedByUser)
    /// The buffers that the sender shares.
    package internal(set) var shared: SharedBuffers
    /// What the sender had been doing when its deadline was set; nil if it has none.
    var deadlinePhase: Phase?
    /// Whether that deadline has passed.
    var isOverdue = false

    /// Creates the machine of a connection that has just been accepted; call ``start(at:)`` first.
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

    /// Returns the memory for the next read.
    ///
    /// - Throws: `noMemory`.
    package mutating func readTargets() throws(TransportError) -> (
        UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer
    ) {
        try unsafe assembler.targets(limit: max(1, turn.bytesLeft))
    }
}
