package import FrameWire

/// Decides everything about the receiving end of one connection: the handshake, what is read when and for how long, what
/// waits for the consumer or for memory, the deadlines, the requests to the sender, and the end.
///
/// The shell reports events, and carries out the commands that ``nextCommand()`` returns until there are no more.
package struct ReceiverMachine: ~Copyable {
    /// What the shell is to do.
    package enum Command {
        /// Read at most so many bytes of the token; report with ``didReadToken(_:at:)`` or as for a read.
        case readToken(count: Int)
        /// Write this side's token, and report with ``didWriteToken(_:at:)``.
        case writeToken
        /// Present the connection to the program: frames may come from now on.
        case present
        /// Ask the consumer's side how many frames it has room for, once what waits there has been taken if so wished, and
        /// report with ``reserved(_:behind:)``.
        case reserveRoom(onceEmpty: Bool)
        /// Read once into ``readTargets()``, and report with ``didRead(_:into:isShort:at:)``, ``wouldBlock(at:)``,
        /// ``endOfStream()`` or ``readFailed(_:)``.
        case read
        /// Deliver a frame; if `more` may follow in this run, its consumer can be woken at the end of the run.
        case deliver(Frame, more: Bool)
        case deliverAudio(AudioMessage)
        case deliverStatus(SenderStatus)
        /// Count an audio message that was asked for, and is longer than the memory that audio may take.
        case countDroppedAudio
        /// Ask for a part of the memory budget; report with ``memoryGranted(_:at:)``, now or later.
        case askForMemory(byteCount: Int)
        /// Take back the request for memory.
        case withdrawRequestForMemory
        /// Write what ``outbox`` holds, and report with ``didWriteRequests(_:)``.
        case writeRequests
        /// Report when the socket has room, or no longer.
        case watchRoom(Bool)
        case setDeadline(UInt64?)
        case shutDownSending
        case shutDownReceiving
        /// Read and throw away, and report with ``didDiscard()``, ``wouldBlock(at:)``, ``endOfStream()`` or
        /// ``readFailed(_:)``.
        case discard
        /// Let others have their turns, then call ``resume()``.
        case yield
        /// Deliver nothing further: what the consumer has not taken is still its own.
        case endDelivery
        /// Close the socket, and tell everybody why. It is the last command.
        case close(CloseReason)
    }

    /// What one turn may do before other connections have theirs.
    package struct Turn: Sendable {
        package static let messages = 16
        package static let reads = 64
        package static let bytes = 512 << 10

        var messagesLeft = Turn.messages
        var readsLeft = Turn.reads
        var bytesLeft = Turn.bytes

        var isOver: Bool { messagesLeft <= 0 || readsLeft <= 0 || bytesLeft <= 0 }
    }

    /// What is settled before a connection begins.
    package struct Configuration: Sendable {
        package var limits = TransportLimits()
        package var expectedToken: [UInt8]?
        package var hello: ControlHello?
        /// What the connection may take of the memory budget without asking.
        package var allowance = Int.max / 2
        /// The largest body that can be granted.
        package var largestGrant = Int.max / 2
        /// Whether a reset loses nothing that was sent before it, as over a Unix-domain socket.
        package var resetKeepsData = true

        package init() {}
    }

    /// What holds up reading.
    enum Gate {
        /// Nothing; so many frames may still be delivered, nil for not known.
        case open(room: Int?)
        /// The consumer has no room.
        case awaitingRoom
        /// A large body waits for memory.
        case awaitingMemory
    }

    enum State {
        case handshaking(TokenReader)
        /// The sender's token was right, and this side's is being written.
        case showingToken
        case receiving(Gate)
        /// This side ends the connection once what has arrived is delivered.
        case draining(Gate)
        /// This side has ended the connection, for this reason, and reads on to the peer's end.
        case lingering(CloseReason)
        case closed(CloseReason)

        var gate: Gate? {
            switch self {
            case .receiving(let gate), .draining(let gate): gate
            case .handshaking, .showingToken, .lingering, .closed: nil
            }
        }
    }

    let configuration: Configuration
    var state: State
    var assembler: FrameAssembler
    var commands: [Command] = []
    var turn = Turn()
    var hasYielded = false
    var now: UInt64 = 0

    /// Whether the socket may have more: reports come once for each change, so that this is kept until a read finds nothing.
    var mayRead = false
    /// Whether the peer sends nothing beyond what has arrived.
    var hasHungUp = false
    /// The length of a body whose header has come, until it may be read.
    var pendingBody: Int?
    /// What may wait for the consumer: the bytes that waited when room was last reserved, and those delivered since.
    var burstByteCount = 0

    /// The requests that wait to be written.
    package internal(set) var outbox = RequestOutbox()
    var watchesRoom = false
    var hasSaidHello = false
    var wants = ControlWants.pictures
    var hasPaused = false
    var stopReason: FinishReason?
    var drainReason = CloseReason.closedLocally(.stoppedByUser)
    var deadlinePhase: (phase: FrameAssembler.Phase, messages: Int, mustSpeak: Bool)?

    /// A connection that has just been accepted; ``start(at:)`` comes first.
    package init(_ configuration: Configuration, pool: BytePool, tally: DecodingTally? = nil) {
        self.configuration = configuration
        assembler = FrameAssembler(limits: configuration.limits.wire, pool: pool, tally: tally)
        state = .receiving(.open(room: nil))
        if let token = configuration.expectedToken { state = .handshaking(TokenReader(expecting: token)) }
    }
}

extension ReceiverMachine {
    /// Whether frames may come: at once, or when the sender has shown its token.
    package var isReady: Bool { state.gate != nil }

    /// How the connection ended; nil while it lasts.
    package var closeReason: CloseReason? {
        if case .closed(let reason) = state { reason } else { nil }
    }

    /// How many messages of any kind have come whole.
    package var messages: Int { assembler.messages }

    /// The memory of the body under way.
    package var heldByteCount: Int { assembler.heldByteCount }

    /// The largest body that needs no grant: two fit into the allowance, and audio if it is wanted.
    package var share: Int { (configuration.allowance - audioAllowance) / 2 }

    /// How much audio may wait: none unless it was asked for.
    package var audioAllowance: Int { wants.contains(.audio) ? Self.audioAllowance(of: configuration.allowance) : 0 }

    /// The part of an allowance that audio takes, if it is wanted.
    package static func audioAllowance(of allowance: Int) -> Int { allowance / 8 }

    /// The memory that the next read goes to.
    ///
    /// - Throws: `noMemory`.
    package mutating func readTargets() throws(TransportError) -> (
        UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer
    ) {
        try unsafe assembler.targets(limit: max(1, turn.bytesLeft))
    }
}
