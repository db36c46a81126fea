internal import FrameWire

/// The receiving end of one connection, as the I/O thread drives it: reads, delivers, keeps the deadlines, closes.
///
/// - Note: `@unchecked Sendable` holds because everything that changes is touched on `thread` alone; other threads
///   reach it through ``IOThread/execute(_:)``.
final class ReceivingDriver: IOHandler, @unchecked Sendable {
    /// How much sound waits for a consumer: a second and a half in blocks of 1,024 at 44,100 Hz.
    private static let audioCapacity = 64

    /// How many messages one turn may deliver before the other connections have theirs.
    private static let messagesPerTurn = 16

    /// How many reads one turn may throw away.
    private static let discardsPerTurn = 64

    let thread: IOThread
    let mailbox: Mailbox<Frame>
    let audio = Mailbox<AudioMessage>(capacity: audioCapacity, overflow: .replacesOldest)
    let statuses = Mailbox<SenderStatus>(capacity: 16, overflow: .replacesOldest)
    let closed = Latch<CloseReason>()

    /// Whether frames may come: at once, or when the sender has shown its token.
    private(set) var isReady = false

    private let limits: TransportLimits
    private let memory: MemoryBudget
    /// The number of the request for memory that has not been granted yet: nothing is read until then.
    private var awaitedGrant: UInt64?
    private let tokens: HandshakeTokens?
    private let hello: ControlHello?
    private var token: TokenReader?
    private var descriptor: OwnedDescriptor?
    private var receiver: FrameReceiver
    private var registration: IORegistration?
    private var deadlinePhase: (phase: FrameReceiver.Phase, messages: Int)?
    private var messagesLeft = messagesPerTurn
    /// Why this side ends the connection, once it does.
    private var ending: FinishReason?
    private var isLingering: Bool { ending != nil }
    /// Whether this side ends the connection, once what has arrived is delivered.
    private var isDraining = false
    private var requests = RequestWriter()
    private var hasSaidHello = false
    private var stopReason: FinishReason?
    private var sink: ((Frame) -> Void)?
    private var onEnd: ((CloseReason) -> Void)?
    private var onReady: (() -> Void)?
    private var onClosed: (() -> Void)?

    init(_ descriptor: consuming OwnedDescriptor, id: Int, configuration: FrameServer.Configuration) {
        thread = configuration.thread
        limits = configuration.limits
        memory = configuration.memory
        tokens = configuration.tokens
        hello = configuration.hello
        token = configuration.tokens.map { TokenReader(expecting: $0.expected) }
        self.descriptor = consume descriptor
        let owner = WeakReference<ReceivingDriver>()
        receiver = FrameReceiver(
            limits: limits.wire,
            pool: configuration.pool,
            share: memory.share(ofConnections: limits.connections),
            tally: DecodingTally(limit: limits.undecodableFrames) {
                guard let driver = owner.object else { return }
                driver.thread.execute { driver.endForUndecodableFrames() }
            },
            tap: configuration.tap.map { tap in { tap.connection(id, didRead: $0) } }
        )
        mailbox = Mailbox(capacity: 1, overflow: configuration.delivery == .newest ? .replacesOldest : .refused) {
            guard let driver = owner.object else { return }
            driver.thread.execute { driver.turn() }
        }
        owner.object = self
    }

    /// Starts to read.
    ///
    /// - Parameters:
    ///   - onReady: called when frames may come.
    ///   - onClosed: called once, when the descriptor has been closed.
    func start(onReady: @escaping () -> Void, onClosed: @escaping () -> Void) {
        self.onReady = onReady
        self.onClosed = onClosed
        guard let socket = descriptor?.rawValue else { return }
        do {
            registration = try thread.register(socket, self)
        } catch {
            return finish(.failed(.lost(error)))
        }
        if token == nil {
            becomeReady()
        } else {
            registration?.deadline = MonotonicClock.deadline(in: limits.handshake)
        }
    }

    /// Hands what comes to closures in place of the mailbox.
    func deliver(to sink: @escaping (Frame) -> Void, end: @escaping (CloseReason) -> Void) {
        self.sink = sink
        onEnd = end
    }

    private func becomeReady() {
        isReady = true
        updateDeadline()
        if let hello { send(.hello(hello)) }
        onReady?()
        onReady = nil
    }

    /// Reads the sender's token, and answers with this side's when it is right.
    private func shakeHands(_ reader: TokenReader, with socket: Int32) {
        var reader = reader
        do throws(TransportError) {
            while reader.remaining > 0, try reader.read(from: socket) {}
            token = reader
            guard reader.remaining == 0 else { return }
            guard reader.isRight, let tokens else {
                throw TransportError(.tokenRejected, "the sender's token is not the one expected")
            }
            token = nil
            try tokens.show(to: socket)
        } catch {
            return finish(.failed(error))
        }
        becomeReady()
    }

    /// Takes the next frame straight from the socket; nil where it is not there yet, or must be waited for in turn.
    func receiveInline() -> Frame? {
        guard messagesLeft > 0 else {
            messagesLeft = Self.messagesPerTurn
            thread.execute { self.turn() }
            return nil
        }
        guard let frame = receive() else { return nil }
        messagesLeft -= 1
        return frame
    }

    /// Closes in order: says that nothing will follow, and reads the rest away until the peer has closed too.
    ///
    /// - Parameter reason: why; nil tells the peer nothing, and it may come back.
    func close(_ reason: FinishReason? = nil) {
        guard !isLingering, let socket = descriptor?.rawValue else { return }
        if let reason { send(.stop(reason)) }
        ending = reason ?? .stoppedByUser
        endMailboxes(nil)
        // What of a request the socket has not taken by now is lost: the peer does not read.
        Syscalls.shutdownSending(socket)
        registration?.deadline = MonotonicClock.deadline(in: limits.linger)
        discardInput()
    }

    /// Closes in order, as ``close(_:)`` does, and delivers what has arrived and what comes until the sender stops.
    func drain() {
        guard isReady else { return close() }
        guard !isLingering, !isDraining, let socket = descriptor?.rawValue else { return }
        isDraining = true
        Syscalls.shutdownSending(socket)
        registration?.deadline = MonotonicClock.deadline(in: limits.linger)
    }

    /// Takes nothing more from a sender that has not stopped: what has arrived by now is all that is delivered.
    private func cutOff() {
        guard let socket = descriptor?.rawValue else { return }
        Syscalls.shutdownReceiving(socket)
        receiver.socketBecameReady([.readable, .hangup])
        turn()
    }

    /// Sends a request to the sender, which need not understand it; one that cannot be taken is dropped.
    ///
    /// A sender heeds requests only after a hello, so the first one is preceded by it.
    func send(_ request: ControlRequest) {
        guard isReady, !isLingering, let socket = descriptor?.rawValue else { return }
        if case .hello = request {} else if !hasSaidHello { requests.add(.hello(ControlHello())) }
        hasSaidHello = true
        requests.add(request)
        writeRequests(to: socket)
    }

    private func writeRequests(to socket: Int32) {
        requests.write(to: socket)
        registration?.watchesRoom = requests.isWaiting
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        receiver.socketBecameReady(readiness)
        if let token, let socket = descriptor?.rawValue { shakeHands(token, with: socket) }
        guard token == nil else { return }
        if readiness.contains(.writable), let socket = descriptor?.rawValue, !isLingering { writeRequests(to: socket) }
        if isLingering { discardInput() } else { turn() }
    }

    func deadlinePassed() {
        if let ending { return finish(.closedLocally(ending)) }
        if isDraining { return cutOff() }
        guard isReady else {
            return finish(.failed(TransportError(.handshakeTimedOut, "the sender did not show its token in time")))
        }
        let what =
            switch receiver.phase {
            case .betweenMessages: receiver.messages == 0 ? "its first frame" : "its next frame"
            case .head: "the head of a frame"
            case .body(let length): "the body of a frame of \(length) bytes"
            }
        finish(.failed(TransportError(.receiveTimedOut, "the sender took too long over \(what)")))
    }

    // MARK: Reading

    /// Delivers what there is, as far as the consumer takes it.
    private func turn() {
        // One that was asked for before an orderly close has nothing to do with the deadline of that.
        guard !isLingering else { return }
        messagesLeft = Self.messagesPerTurn
        while messagesLeft > 0 {
            guard sink != nil || mailbox.makesRoom() else {
                // The wait is the consumer's.
                return suspendDeadline()
            }
            guard let frame = receive() else { return }
            messagesLeft -= 1
            if let sink { sink(frame.handedOver()) } else { mailbox.put(frame) }
        }
        thread.execute { self.turn() }
    }

    private func receive() -> Frame? {
        while !isLingering, awaitedGrant == nil, let socket = descriptor?.rawValue {
            // Sound and statuses have their share of a turn too, or a flood of them would never end it.
            guard messagesLeft > 0 else {
                thread.execute { self.turn() }
                return nil
            }
            do {
                switch try receiver.receive(from: socket) {
                case .frame(let frame):
                    return frame
                case .audio(let message):
                    messagesLeft -= 1
                    audio.put(message)
                case .status(let status):
                    messagesLeft -= 1
                    if case .stopped(let reason) = status.state { stopReason = reason }
                    statuses.put(status)
                case .needsGrant(let bytes):
                    try ask(for: bytes)
                case .wouldBlock:
                    updateDeadline()
                    return nil
                case .endOfStream:
                    finish(isDraining ? .closedLocally(.stoppedByUser) : .closedByPeer(stopReason ?? .stoppedByUser))
                }
            } catch {
                finish(isDraining && error.isTruncation ? .closedLocally(.stoppedByUser) : .failed(error))
            }
        }
        return nil
    }

    /// Asks for memory for a large body; until it is granted the connection is not read.
    private func ask(for bytes: Int) throws(TransportError) {
        guard bytes <= memory.largestGrant else {
            throw TransportError(
                .noMemory,
                "a body of \(bytes) bytes is more than the memory budget of \(memory.bytes) allows for any"
            )
        }
        let answer = memory.ask(bytes) { [weak self, thread] grant in
            thread.execute { [weak self] in self?.granted(grant) }
        }
        switch answer {
        case .granted(let grant): return receiver.take(grant)
        case .waiting(let id): awaitedGrant = id
        }
        // The wait is this side's.
        suspendDeadline()
    }

    private func granted(_ grant: MemoryBudget.Grant) {
        // Where the connection has ended meanwhile the grant goes to the next one that waits.
        guard awaitedGrant != nil, descriptor != nil, !isLingering else { return }
        awaitedGrant = nil
        receiver.take(grant)
        turn()
    }

    /// Reads on to the peer's end and throws it away; one that never stops has its turns as others have.
    private func discardInput() {
        guard isLingering, let socket = descriptor?.rawValue else { return }
        unsafe withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { scratch in
            let nothing = unsafe MemoryRun(start: nil, count: 0)
            for _ in 0..<Self.discardsPerTurn {
                switch try? unsafe Syscalls.receive(from: socket, into: scratch, nothing) {
                case .bytes(0, _), nil: return finish(.closedLocally(ending ?? .stoppedByUser))
                case .bytes: continue
                case .wouldBlock: return
                }
            }
            thread.execute { self.discardInput() }
        }
    }

    // MARK: Ending

    /// Deadlines are absolute: set when a phase begins, and left alone while bytes trickle in.
    private func updateDeadline() {
        guard !isDraining else { return }
        let current = (phase: receiver.phase, messages: receiver.messages)
        if let deadlinePhase, deadlinePhase == current { return }
        deadlinePhase = current
        let duration: Duration? =
            switch current.phase {
            case .betweenMessages: receiver.messages == 0 ? limits.firstFrame : limits.idle
            case .head: limits.head
            case .body(let length): limits.bodyDuration(length: length)
            }
        registration?.deadline = duration.map { MonotonicClock.deadline(in: $0) }
    }

    /// Lets no deadline run against the peer; that of an end, which is this side's, goes on.
    private func suspendDeadline() {
        guard !isDraining else { return }
        registration?.deadline = nil
        deadlinePhase = nil
    }

    private func endForUndecodableFrames() {
        finish(
            .failed(
                TransportError(
                    .undecodableFrames,
                    "the sender sent \(limits.undecodableFrames) frames in a row that cannot be decoded"
                )
            )
        )
    }

    private func endMailboxes(_ error: TransportError?) {
        mailbox.end(error)
        audio.end()
        statuses.end()
    }

    private func finish(_ reason: CloseReason) {
        guard descriptor != nil else { return }
        registration?.cancel()
        registration = nil
        descriptor = nil
        receiver.abandon()
        if let awaitedGrant { memory.withdraw(awaitedGrant) }
        closed.set(reason)
        endMailboxes(reason.error)
        onEnd?(reason)
        onClosed?()
        (sink, onEnd, onReady, onClosed) = (nil, nil, nil, nil)
    }
}

extension TransportError {
    /// Whether the stream ended within a message, as it may where this side ends it, or broke.
    fileprivate var isTruncation: Bool {
        code == .connectionLost || wireError?.code == .headTruncated || wireError?.code == .bodyTruncated
    }
}

/// A reference that does not keep its object, for a closure that is made before the object is.
private final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    // Set once, before the closure that holds this can be called.
    weak var object: Object?
}
