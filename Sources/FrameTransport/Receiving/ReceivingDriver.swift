internal import FrameWire

/// The receiving end of one connection, as the I/O thread drives it: reads, delivers, keeps the deadlines, closes.
///
/// - Note: `@unchecked Sendable` holds because everything that changes is touched on `thread` alone; other threads
///   reach it through ``IOThread/execute(_:)``.
final class ReceivingDriver: IOHandler, @unchecked Sendable {
    /// How many frames one turn may deliver before the other connections have theirs.
    private static let framesPerTurn = 16

    /// How many reads one turn may throw away.
    private static let discardsPerTurn = 64

    let thread: IOThread
    let mailbox: Mailbox<Frame>
    let closed = Latch<CloseReason>()

    private let limits: TransportLimits
    private var descriptor: OwnedDescriptor?
    private var receiver: FrameReceiver
    private var registration: IORegistration?
    private var deadlinePhase: (phase: FrameReceiver.Phase, frame: Int)?
    private var framesLeft = framesPerTurn
    private var isLingering = false
    private var sink: ((Frame) -> Void)?
    private var onClosed: ((CloseReason) -> Void)?

    init(_ descriptor: consuming OwnedDescriptor, configuration: FrameServer.Configuration) {
        thread = configuration.thread
        limits = configuration.limits
        self.descriptor = consume descriptor
        receiver = FrameReceiver(limits: configuration.limits.wire, pool: configuration.pool)
        let owner = WeakReference<ReceivingDriver>()
        mailbox = Mailbox(capacity: 1, overflow: configuration.delivery == .newest ? .replacesOldest : .refused) {
            guard let driver = owner.object else { return }
            driver.thread.execute { driver.turn() }
        }
        owner.object = self
    }

    /// Starts to read.
    ///
    /// - Parameters:
    ///   - sink: takes the frames in place of the mailbox.
    ///   - onClosed: called once, when the descriptor has been closed.
    func start(sink: ((Frame) -> Void)?, onClosed: @escaping (CloseReason) -> Void) {
        self.sink = sink
        self.onClosed = onClosed
        guard let socket = descriptor?.rawValue else { return }
        do {
            registration = try thread.register(socket, self)
            updateDeadline()
        } catch {
            finish(.failed(.lost(error)))
        }
    }

    /// Takes the next frame straight from the socket; nil where it is not there yet, or must be waited for in turn.
    func receiveInline() -> Frame? {
        guard framesLeft > 0 else {
            framesLeft = Self.framesPerTurn
            thread.execute { self.turn() }
            return nil
        }
        framesLeft -= 1
        return receive()
    }

    /// Closes in order: says that nothing will follow, and reads the rest away until the peer has closed too.
    func close() {
        guard !isLingering, let socket = descriptor?.rawValue else { return }
        isLingering = true
        mailbox.end()
        Syscalls.shutdownSending(socket)
        registration?.deadline = MonotonicClock.deadline(in: limits.linger)
        discardInput()
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        receiver.socketBecameReady(readiness)
        if isLingering { discardInput() } else { turn() }
    }

    func deadlinePassed() {
        if isLingering { return finish(.closedLocally) }
        let what =
            switch receiver.phase {
            case .betweenMessages: receiver.frames == 0 ? "its first frame" : "its next frame"
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
        framesLeft = Self.framesPerTurn
        while framesLeft > 0 {
            guard sink != nil || mailbox.makesRoom() else {
                // The wait is the consumer's: no deadline runs against the peer.
                registration?.deadline = nil
                deadlinePhase = nil
                return
            }
            guard let frame = receive() else { return }
            framesLeft -= 1
            if let sink { sink(frame) } else { mailbox.put(frame) }
        }
        thread.execute { self.turn() }
    }

    private func receive() -> Frame? {
        guard !isLingering, let socket = descriptor?.rawValue else { return nil }
        do {
            switch try receiver.receive(from: socket) {
            case .frame(let frame):
                return frame
            case .wouldBlock:
                updateDeadline()
            case .endOfStream:
                finish(.closedByPeer)
            }
        } catch {
            finish(.failed(error))
        }
        return nil
    }

    /// Reads on to the peer's end and throws it away; one that never stops has its turns as others have.
    private func discardInput() {
        guard isLingering, let socket = descriptor?.rawValue else { return }
        unsafe withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { scratch in
            let nothing = unsafe MemoryRun(start: nil, count: 0)
            for _ in 0..<Self.discardsPerTurn {
                switch try? unsafe Syscalls.receive(from: socket, into: scratch, nothing) {
                case .bytes(0, _), nil: return finish(.closedLocally)
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
        let current = (phase: receiver.phase, frame: receiver.frames)
        if let deadlinePhase, deadlinePhase == current { return }
        deadlinePhase = current
        let duration: Duration? =
            switch current.phase {
            case .betweenMessages: receiver.frames == 0 ? limits.firstFrame : limits.idle
            case .head: limits.head
            case .body(let length): limits.bodyDuration(length: length)
            }
        registration?.deadline = duration.map { MonotonicClock.deadline(in: $0) }
    }

    private func finish(_ reason: CloseReason) {
        guard descriptor != nil else { return }
        registration?.cancel()
        registration = nil
        descriptor = nil
        closed.set(reason)
        mailbox.end(reason.error)
        onClosed?(reason)
        onClosed = nil
        sink = nil
    }
}

/// A reference that does not keep its object, for a closure that is made before the object is.
private final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    // Set once, before the closure that holds this can be called.
    weak var object: Object?
}
