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
        /// Ask the consumer's side how many frames it has room for, and report with ``reserved(_:)``.
        case reserveRoom
        /// Read once into ``readTargets()``, and report with ``didRead(_:into:isShort:at:)``, ``wouldBlock(at:)``,
        /// ``endOfStream()`` or ``readFailed(_:)``.
        case read
        case deliver(Frame)
        case deliverAudio(AudioMessage)
        case deliverStatus(SenderStatus)
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
    private enum Gate {
        /// Nothing; so many frames may still be delivered, nil for not known.
        case open(room: Int?)
        /// The consumer has no room.
        case awaitingRoom
        /// A large body waits for memory.
        case awaitingMemory
    }

    private enum State {
        case handshaking(TokenReader)
        /// The sender's token was right, and this side's is being written.
        case showingToken
        case receiving(Gate)
        /// This side ends the connection once what has arrived is delivered.
        case draining(Gate)
        /// This side has ended the connection, and reads on to the peer's end.
        case lingering(FinishReason)
        case closed(CloseReason)

        var gate: Gate? {
            switch self {
            case .receiving(let gate), .draining(let gate): gate
            case .handshaking, .showingToken, .lingering, .closed: nil
            }
        }
    }

    private let configuration: Configuration
    private var state: State
    private var assembler: FrameAssembler
    private var commands: [Command] = []
    private var turn = Turn()
    private var hasYielded = false
    private var now: UInt64 = 0

    /// Whether the socket may have more: reports come once for each change, so that this is kept until a read finds nothing.
    private var mayRead = false
    /// Whether the peer sends nothing beyond what has arrived.
    private var hasHungUp = false
    /// The length of a body whose header has come, until it may be read.
    private var pendingBody: Int?
    /// What was delivered since room was last reserved.
    private var burstByteCount = 0

    /// The requests that wait to be written.
    package private(set) var outbox = RequestOutbox()
    private var watchesRoom = false
    private var hasSaidHello = false
    private var wants = ControlWants.pictures
    private var stopReason: FinishReason?
    private var deadlinePhase: (phase: FrameAssembler.Phase, messages: Int)?

    /// A connection that has just been accepted; ``start(at:)`` comes first.
    package init(_ configuration: Configuration, pool: BytePool, tally: DecodingTally? = nil) {
        self.configuration = configuration
        assembler = FrameAssembler(limits: configuration.limits.wire, pool: pool, tally: tally)
        state = configuration.expectedToken.map { .handshaking(TokenReader(expecting: $0)) } ?? .receiving(.open(room: nil))
    }
}

// MARK: - What can be asked

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

// MARK: - Events from the program

extension ReceiverMachine {
    /// Starts the connection.
    package mutating func start(at now: UInt64) {
        self.now = now
        if case .handshaking = state {
            commands.append(.setDeadline(now &+ configuration.limits.handshake.nanoseconds))
        } else {
            becomeReady()
        }
    }

    /// Sends a request to the sender, which need not understand it; one that cannot be taken is dropped.
    ///
    /// A sender obeys requests only after a hello, so the first one is preceded by it.
    package mutating func send(_ request: ControlRequest) {
        guard isReady else { return }
        if case .hello(let hello) = request {
            heed(hello)
        } else if !hasSaidHello {
            outbox.add(.hello(ControlHello()))
        }
        hasSaidHello = true
        outbox.add(request)
        commands.append(.writeRequests)
    }

    /// Ends the connection in order: says that nothing will follow, and reads the rest away until the peer has closed too.
    ///
    /// - Parameter reason: why; nil tells the peer nothing, and it may come back.
    package mutating func close(_ reason: FinishReason?, at now: UInt64) {
        self.now = now
        switch state {
        case .lingering, .closed: return
        case .handshaking, .showingToken, .receiving, .draining: break
        }
        if let reason { send(.stop(reason)) }
        withdrawRequest()
        state = .lingering(reason ?? .stoppedByUser)
        mayRead = true
        assembler.abandon()
        // What of a request the socket has not taken by now is lost: the peer does not read.
        commands.append(.endDelivery)
        commands.append(.shutDownSending)
        commands.append(.setDeadline(now &+ configuration.limits.linger.nanoseconds))
    }

    /// Ends the connection in order, once what has arrived, and what comes until the sender stops, is delivered.
    package mutating func drain(at now: UInt64) {
        self.now = now
        switch state {
        case .handshaking, .showingToken:
            close(nil, at: now)
        case .receiving(let gate):
            state = .draining(gate)
            commands.append(.shutDownSending)
            commands.append(.setDeadline(now &+ configuration.limits.linger.nanoseconds))
        case .draining, .lingering, .closed:
            break
        }
    }

    /// Ends the connection of a sender that sent too many frames in a row that cannot be decoded.
    package mutating func undecodableLimitReached() {
        let count = configuration.limits.undecodableFrames
        finish(
            .failed(
                TransportError(.undecodableFrames, "the sender sent \(count) frames in a row that cannot be decoded")
            )
        )
    }

    /// The consumer has room again.
    package mutating func roomAvailable(at now: UInt64) {
        self.now = now
        guard case .awaitingRoom? = state.gate else { return }
        turn = Turn()
        setGate(.open(room: nil))
    }

    /// Allows one frame to be delivered to a consumer that asks for it on the connection's own thread.
    ///
    /// - Returns: whether one may be read now: the connection has its turn, and nothing else holds it up.
    package mutating func beginInline() -> Bool {
        guard !hasYielded, case .open(let room)? = state.gate else { return false }
        setGate(.open(room: max(1, room ?? 0)))
        return true
    }

    /// How many frames the consumer has room for; if none, ``roomAvailable(at:)`` follows.
    package mutating func reserved(_ count: Int) {
        guard case .open? = state.gate else { return }
        burstByteCount = 0
        if count > 0 {
            setGate(.open(room: count))
        } else {
            setGate(.awaitingRoom)
            // The wait is the consumer's.
            suspendDeadline()
        }
    }

    /// Memory for the body that waits for it.
    ///
    /// One that is no longer waited for goes back at once.
    mutating func memoryGranted(_ grant: MemoryBudget.Grant, at now: UInt64) {
        if memoryGranted(at: now) { assembler.take(grant) }
    }

    /// Memory was granted for the body that waits for it.
    ///
    /// - Returns: whether it is still waited for.
    package mutating func memoryGranted(at now: UInt64) -> Bool {
        self.now = now
        guard case .awaitingMemory? = state.gate else { return false }
        setGate(.open(room: 1))
        admitPendingBody()
        return true
    }

    /// Others have had their turns.
    package mutating func resume(at now: UInt64) {
        self.now = now
        hasYielded = false
        turn = Turn()
    }
}

// MARK: - Events from the socket

extension ReceiverMachine {
    /// The socket has become readable or writable, or the peer has hung up.
    package mutating func becameReady(_ readiness: Readiness, at now: UInt64) {
        self.now = now
        if !hasYielded { turn = Turn() }
        if readiness.contains(.readable) { mayRead = true }
        if readiness.contains(.hangup) { hangUp() }
        if readiness.contains(.writable), !outbox.bytes.isEmpty, isReady { commands.append(.writeRequests) }
    }

    /// Bytes of the sender's token were read.
    package mutating func didReadToken(_ bytes: Span<UInt8>, at now: UInt64) {
        self.now = now
        guard case .handshaking(var reader) = state else { return }
        turn.readsLeft -= 1
        unsafe bytes.withUnsafeBytes { unsafe reader.take($0) }
        state = .handshaking(reader)
        guard reader.remaining == 0 else { return }
        guard reader.isRight else {
            return finish(
                .failed(TransportError(.tokenRejected, "the sender's token is not the one expected"))
            )
        }
        state = .showingToken
        commands.append(.writeToken)
    }

    /// This side's token was written, or the error that kept it from that.
    package mutating func didWriteToken(_ error: TransportError?, at now: UInt64) {
        self.now = now
        guard case .showingToken = state else { return }
        if let error { return finish(.failed(error)) }
        state = .receiving(.open(room: nil))
        becomeReady()
    }

    /// A read brought `count` bytes into the memory of ``readTargets()``, whose first run had room for `first`.
    package mutating func didRead(_ count: Int, into first: Int, isShort: Bool, at now: UInt64) {
        self.now = now
        turn.readsLeft -= 1
        turn.bytesLeft -= count
        // A short read has emptied the socket, and the next bytes come with a report of their own; but an end that
        // was reported together with these bytes will not be reported again.
        mayRead = !isShort || hasHungUp
        assembler.didRead(count, into: first)
    }

    /// A read brought bytes that are thrown away.
    package mutating func didDiscard() {
        turn.readsLeft -= 1
    }

    /// A read found nothing.
    package mutating func wouldBlock(at now: UInt64) {
        self.now = now
        mayRead = false
    }

    /// The peer sends nothing more.
    package mutating func endOfStream() {
        mayRead = false
        switch state {
        case .handshaking:
            finish(
                .failed(TransportError(.tokenRejected, "the other side closed in place of its token"))
            )
        case .showingToken, .closed:
            break
        case .lingering(let reason):
            finish(.closedLocally(reason))
        case .receiving, .draining:
            do throws(TransportError) {
                try assembler.finish()
                end()
            } catch {
                fail(error)
            }
        }
    }

    /// A read failed.
    package mutating func readFailed(_ error: Errno) {
        mayRead = false
        switch state {
        case .closed:
            break
        case .lingering(let reason):
            finish(.closedLocally(reason))
        case .receiving, .draining:
            // A peer that closes without having read this side's requests resets the connection: it has ended in order
            // all the same, if nothing that it sent is lost.
            let isOrderly = error == .reset && configuration.resetKeepsData && outbox.hasWritten
            if isOrderly, assembler.phase == .betweenMessages { return end() }
            fail(.lost(error))
        case .handshaking, .showingToken:
            finish(.failed(.lost(error)))
        }
    }

    /// There was no memory for a read.
    package mutating func readFailed(_ error: TransportError) {
        fail(error)
    }

    /// So many bytes of the requests were written; a failure is left to the reads, which meet it too.
    package mutating func didWriteRequests(_ count: Int) {
        outbox.didWrite(count)
        let mustWatch = !outbox.bytes.isEmpty && isReady
        guard mustWatch != watchesRoom else { return }
        watchesRoom = mustWatch
        commands.append(.watchRoom(mustWatch))
    }

    /// The deadline has passed.
    package mutating func deadlinePassed(at now: UInt64) {
        self.now = now
        switch state {
        case .handshaking, .showingToken:
            finish(
                .failed(TransportError(.handshakeTimedOut, "the sender did not show its token in time"))
            )
        case .receiving:
            let what =
                switch assembler.phase {
                case .betweenMessages: assembler.messages == 0 ? "its first frame" : "its next frame"
                case .header: "the header of a frame"
                case .body(let length): "the body of a frame of \(length) bytes"
                }
            finish(.failed(TransportError(.receiveTimedOut, "the sender took too long over \(what)")))
        case .draining:
            // What has arrived by now is all that is delivered.
            commands.append(.shutDownReceiving)
            mayRead = true
            hangUp()
        case .lingering(let reason):
            finish(.closedLocally(reason))
        case .closed:
            break
        }
    }
}

// MARK: - Commands

extension ReceiverMachine {
    /// What to do next; nil when there is nothing until the next event.
    package mutating func nextCommand() -> Command? {
        if !commands.isEmpty { return commands.removeFirst() }
        guard !hasYielded else { return nil }
        switch state {
        case .handshaking(let reader):
            guard mayRead else { return nil }
            return turn.isOver ? yield() : .readToken(count: reader.remaining)
        case .lingering:
            guard mayRead else { return nil }
            return turn.isOver ? yield() : .discard
        case .receiving, .draining:
            return nextOfReceiving()
        case .showingToken, .closed:
            return nil
        }
    }

    private mutating func nextOfReceiving() -> Command? {
        while case .open(let room)? = state.gate {
            guard mayRead || pendingBody != nil || assembler.hasMore else { return idle(room) }
            guard !turn.isOver else { return yield() }
            if room == nil, assembler.keepsFrames, !hasHungUp { return .reserveRoom }
            if pendingBody != nil {
                if let command = admission() { return command }
                continue
            }
            let event: FrameAssembler.Event
            do throws(TransportError) {
                event = try assembler.next(at: now)
            } catch {
                fail(error)
                break
            }
            switch event {
            case .frame(let frame):
                turn.messagesLeft -= 1
                burstByteCount += frame.jpeg.count
                // Asked again once what was reserved is used up.
                if let room { setGate(.open(room: room > 1 ? room - 1 : nil)) }
                return .deliver(frame)
            case .audio(let message):
                turn.messagesLeft -= 1
                return .deliverAudio(message)
            case .status(let status):
                turn.messagesLeft -= 1
                if case .stopped(let reason) = status.state { stopReason = reason }
                return .deliverStatus(status)
            case .skipped:
                turn.messagesLeft -= 1
            case .body(let byteCount):
                pendingBody = byteCount
            case .incomplete:
                if mayRead { return .read }
            }
        }
        return commands.isEmpty ? nil : commands.removeFirst()
    }

    /// Admits the body whose header has come, if its memory is there; else what is to be done for it.
    private mutating func admission() -> Command? {
        guard let byteCount = pendingBody else { return nil }
        // What a departed sender has left lies in the socket already; it is bounded by the socket's own buffer.
        if hasHungUp {
            admitPendingBody()
        } else if byteCount > share {
            guard byteCount <= configuration.largestGrant else {
                fail(
                    TransportError(
                        .noMemory,
                        "a body of \(byteCount) bytes is more than the memory budget allows for any "
                            + "(\(configuration.largestGrant))"
                    )
                )
                return nil
            }
            setGate(.awaitingMemory)
            // The wait is this side's.
            suspendDeadline()
            return .askForMemory(byteCount: byteCount)
        } else if burstByteCount > 0, burstByteCount + byteCount > share {
            // What is read ahead has a share of its own, and this would exceed it.
            setGate(.open(room: nil))
            return .reserveRoom
        } else {
            admitPendingBody()
        }
        return nil
    }

    private mutating func admitPendingBody() {
        pendingBody = nil
        do throws(TransportError) {
            try assembler.admitBody()
        } catch {
            fail(error)
        }
    }

    /// Waits for the socket's next report.
    private mutating func idle(_ room: Int?) -> Command? {
        updateDeadline()
        // What is reserved holds for one run of frames: by the next one the consumer may have more room, or less.
        if room != nil { setGate(.open(room: nil)) }
        return commands.isEmpty ? nil : commands.removeFirst()
    }

    private mutating func yield() -> Command {
        hasYielded = true
        return .yield
    }
}

// MARK: - Changes of state

extension ReceiverMachine {
    private mutating func becomeReady() {
        updateDeadline()
        if let hello = configuration.hello { send(.hello(hello)) }
        commands.append(.present)
    }

    /// Keeps from now on what is asked for.
    private mutating func heed(_ hello: ControlHello) {
        wants = hello.wants
        assembler.keepsFrames = wants.contains(.pictures)
        assembler.longestAudio = wants.contains(.audio) ? audioAllowance : 0
        // Frames that nobody wants hold up nothing.
        if !assembler.keepsFrames, case .awaitingRoom? = state.gate { setGate(.open(room: nil)) }
    }

    /// The peer has hung up: whatever it sent has arrived, and nothing holds that up any more.
    ///
    /// A sender that has gone takes up neither a place nor memory that others wait for, consumed or not.
    private mutating func hangUp() {
        hasHungUp = true
        guard let gate = state.gate else { return }
        withdrawRequest()
        if case .open = gate { return }
        setGate(.open(room: nil))
    }

    private mutating func withdrawRequest() {
        if case .awaitingMemory? = state.gate { commands.append(.withdrawRequestForMemory) }
    }

    private mutating func setGate(_ gate: Gate) {
        switch state {
        case .receiving: state = .receiving(gate)
        case .draining: state = .draining(gate)
        case .handshaking, .showingToken, .lingering, .closed: break
        }
    }

    /// Deadlines are absolute: set when a phase begins, and left alone while bytes trickle in.
    private mutating func updateDeadline() {
        guard case .receiving = state else { return }
        let current = (phase: assembler.phase, messages: assembler.messages)
        if let deadlinePhase, deadlinePhase == current { return }
        deadlinePhase = current
        let limits = configuration.limits
        let duration: Duration? =
            switch current.phase {
            case .betweenMessages: assembler.messages == 0 ? limits.firstFrame : limits.idle
            case .header: limits.head
            case .body(let length): limits.bodyDuration(length: length)
            }
        commands.append(.setDeadline(duration.map { now &+ $0.nanoseconds }))
    }

    /// Lets no deadline run against the peer; that of an end, which is this side's, goes on.
    private mutating func suspendDeadline() {
        guard case .receiving = state else { return }
        deadlinePhase = nil
        commands.append(.setDeadline(nil))
    }

    /// The stream has ended between two messages.
    private mutating func end() {
        if case .draining = state { return finish(.closedLocally(.stoppedByUser)) }
        finish(.closedByPeer(stopReason ?? .stoppedByUser))
    }

    private mutating func fail(_ error: TransportError) {
        // A stream that this side ends may end within a message, or break.
        if case .draining = state, error.isTruncation { return finish(.closedLocally(.stoppedByUser)) }
        finish(.failed(error))
    }

    private mutating func finish(_ reason: CloseReason) {
        if case .closed = state { return }
        withdrawRequest()
        state = .closed(reason)
        pendingBody = nil
        assembler.abandon()
        commands.append(.close(reason))
    }
}

extension TransportError {
    /// Whether the stream ended within a message, as it may if this side ends it, or broke.
    fileprivate var isTruncation: Bool {
        code == .connectionLost || wireError?.code == .headTruncated || wireError?.code == .bodyTruncated
    }
}
