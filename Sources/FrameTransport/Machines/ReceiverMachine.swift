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
        /// How much more a byte counts that nobody wants: those who send what is wanted have most of the time.
        package static let weightOfSkippedBytes = 4
        /// About a frame: the limit of bytes while many connections wait for their turns, as of messages is one.
        package static let bytesInCrowd = 64 << 10

        var messagesLeft = Turn.messages
        var readsLeft = Turn.reads
        var bytesLeft = Turn.bytes

        init(isCrowded: Bool = false) {
            if isCrowded { (messagesLeft, bytesLeft) = (1, Self.bytesInCrowd) }
        }

        var isOver: Bool { messagesLeft <= 0 || readsLeft <= 0 || bytesLeft <= 0 }
    }

    /// The configuration of a connection, fixed before it begins.
    package struct Configuration: Sendable {
        package var limits = FrameServer.Limits()
        package var expectedToken: [UInt8]?
        package var ownToken: [UInt8] = []
        package var hello: ControlRequest.Hello?
        /// What this side states about itself, after the hello.
        package var info = ControlRequest.SessionInfo()
        /// The largest body that is admitted at once.
        package var usualBody = Int.max
        /// The bytes of audio that may wait, if audio is wanted.
        package var audioLimit = Int.max
        /// The largest body that the memory budget can hold.
        package var largestBody = Int.max
        /// Whether a reset preserves everything sent before it, as over a Unix-domain socket.
        package var resetKeepsData = true
        /// Whether the sender may share memory.
        package var acceptsSharedMemory = false

        package init() {}
    }

    enum State {
        case handshaking(TokenReader)
        case receiving
        /// This side ends the connection, for this reason, once what has arrived is delivered.
        case draining(CloseReason)
        /// This side has ended the connection, for this reason, and discards what arrives until the peer's end.
        case lingering(CloseReason)
        case closed(CloseReason)
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
    /// Whether the sender is still to be told that something is discarded, or to stop: its socket had no room for that.
    var owesNotice = false
    var turn = Turn()
    var hasYielded = false
    var now: UInt64 = 0

    /// Whether the program has taken the connection.
    var isTaken = false
    /// The number of frames that the consumer has room for; nil if that is unknown, and 0 while nothing is read.
    var room: Int?
    /// Whether a large body waits for memory, and nothing is read.
    var awaitsMemory = false

    /// Whether the socket may have more: reports come once per change, so this stays set until a read finds nothing.
    var mayRead = false
    /// Whether everything that the peer sends has arrived.
    var hasHungUp = false
    /// The bytes that may be waiting for the consumer: those waiting at the last reservation, and those delivered
    /// since.
    var burstByteCount = 0

    /// The requests waiting to be written.
    package internal(set) var outbox = RequestOutbox()
    /// A reset that a write of requests encountered, over TCP.
    var resetError: Errno?
    var hasSaidHello = false
    /// Whether the sender has sent what existing senders of Jitsi do not, and reads requests.
    package internal(set) var senderReadsRequests = false
    var hasStatedInfo = false
    var wants = ControlRequest.Wants.frames
    var hasPaused = false
    var stopReason: ControlRequest.FinishReason?
    /// The buffers that the sender shares.
    package internal(set) var shared: SharedBuffers
    /// The time until which what arrives after the end is left unread; nil if it is read.
    ///
    /// A sender that has been told that something was discarded need not find out by what is left unread.
    var leavesUnreadUntil: UInt64?
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
        state = .receiving
        if let token = configuration.expectedToken { state = .handshaking(TokenReader(expecting: token)) }
    }
}

extension ReceiverMachine {
    /// Whether frames may arrive: immediately, or after the sender has sent its token.
    package var isReady: Bool {
        switch state {
        case .receiving, .draining: true
        case .handshaking, .lingering, .closed: false
        }
    }

    /// The reason for the connection's end; nil while it lasts.
    package var closeReason: CloseReason? {
        if case .closed(let reason) = state { reason } else { nil }
    }

    /// Whether the shell has to call ``becameReady(_:_:)`` when the socket has room.
    package var watchesRoom: Bool { (isReady || owesNotice) && !outbox.bytes.isEmpty }

    /// The number of complete messages of any kind.
    package var messages: Int { assembler.messages }

    /// The memory of the body in progress, in bytes.
    package var heldByteCount: Int { assembler.heldByteCount }
}

extension ReceiverMachine {
    /// What a machine calls to carry out its decisions: the driver of a socket, or a simulated one.
    ///
    /// Every call returns its result at once, and must not report an event to the same machine before it returns.
    package protocol System: AnyObject {
        /// The current time.
        var now: UInt64 { get }

        /// Reads once into two places, one after the other; 0 bytes are the end of the stream.
        func read(into first: MemoryRun, _ second: MemoryRun) throws(Errno) -> Transfer
        /// Reads a part of the sender's token.
        func readToken(into run: MemoryRun) throws(Errno) -> Transfer
        /// Reads once and discards.
        func discard() throws(Errno) -> Transfer
        /// Returns how many descriptors came with the last read, if any, and whether any were lost on this side.
        func takeArrivals() -> (count: Int, areLost: Bool)?
        /// Writes requests, or this side's token.
        func write(_ bytes: [UInt8]) throws(Errno) -> Transfer
        func shutDownSending()
        func shutDownReceiving()
        /// Closes the socket, and reports the reason. This is the last call.
        func close(_ reason: CloseReason)
        /// Lets other connections have their turns; ``resume(_:)`` follows.
        func yield()
        /// Whether many connections wait for their turns.
        var isCrowded: Bool { get }

        /// Keeps the connection's place at the server; false if it has been revoked.
        func keepPlace() -> Bool
        /// Presents the connection to the program: frames may arrive from now on.
        func present()
        /// Whether frames have been delivered that the program has not taken.
        var hasUntakenFrames: Bool { get }
        /// Returns how many frames the consumer has room for, optionally after it has taken what waits there, and the
        /// bytes of the waiting frames; if there is no room, ``roomAvailable(_:)`` follows.
        func reserveRoom(onceEmpty: Bool) -> (room: Int, waitingByteCount: Int)
        /// Delivers a frame, whose body may have been admitted for it; if `more` may follow in this run, its consumer can be woken
        /// at the end of the run.
        func deliver(_ frame: consuming Frame, more: Bool)
        /// Delivers a frame in a shared buffer, with its image; ``bufferReleased(_:_:)`` follows when that is released.
        func deliver(_ frame: consuming Frame, in header: SharedFrameHeader, more: Bool)
        func deliver(_ block: AudioBlock)
        func deliver(_ status: SenderStatus)
        /// Delivers what the sender states about itself, which replaces what it stated before.
        func deliver(_ info: ControlRequest.SessionInfo)
        /// Delivers nothing further, for this reason, with which ``close(_:)`` follows; the consumer keeps what it has not
        /// taken yet.
        func endDelivery(_ reason: CloseReason)

        /// Asks the memory budget for the next body; if it has no room, ``memoryAvailable(_:)`` follows, and the body asks
        /// again.
        func askForMemory(byteCount: Int) -> Bool
        /// The body that has asked, and waits, needs no memory any more.
        func withdrawRequestForMemory()
        /// Maps the first descriptor that has arrived; false if this process has no room for it.
        ///
        /// - Throws: `sharedMemory` if the memory is not what it should be.
        func map(_ header: SharedFrameHeader.Buffer) throws(TransportError) -> Bool
        /// Closes the first descriptor that has arrived, if one has.
        func dropDescriptor()
        /// Releases every shared buffer that the program does not hold.
        func unmapBuffers()
    }
}
