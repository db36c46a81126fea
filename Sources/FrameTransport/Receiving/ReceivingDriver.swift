internal import FrameWire
internal import Locking

/// The receiving end of one connection: reports events to its ``ReceiverMachine`` on the I/O thread, and is the
/// system that the machine calls.
///
/// - Note: `@unchecked Sendable` holds because mutable state is accessed only on `thread`; other threads reach it
///   through ``IOThread/execute(_:)``.
final class ReceivingDriver: IOHandler, @unchecked Sendable {
    /// The number of audio messages that wait for a consumer: 1.5 seconds in blocks of 1,024 at 44,100 Hz.
    private static let audioCapacity = 64

    let id: Int
    let thread: IOThread
    let mailbox: Mailbox<Frame>
    let audio: Mailbox<AudioBlock>
    let statuses = Mailbox<SenderStatus>(capacity: 16, overflow: .replacesOldest)
    /// What the sender states about itself.
    let info = ObservedValue(ControlRequest.SessionInfo(), capacity: 16)
    let closed = Latch<CloseReason>()
    /// The reason for the end, as soon as nothing more is delivered.
    let closeReason = Locked<CloseReason?>(nil)
    /// The number of audio messages dropped for lack of memory.
    let droppedAudio = Counter()

    /// What the connection has of the memory budget.
    let memory: FrameServer.MemoryBudget.Account
    let tokens: HandshakeTokens?
    let onRead: (@Sendable (_ connection: Int, _ bytes: Span<UInt8>) -> Void)?
    let counts: ReceivedCounts
    /// The frames that the program has taken.
    let takenFrames = TakenFrames()
    let onDiscarded: @Sendable (_ frames: Int, _ bytes: Int) -> Void
    /// The bytes that were read after this side had closed.
    var discardedByteCount = 0
    /// The bytes of the body that is arriving, for other threads.
    private let arriving = Counter()
    private(set) var machine: ReceiverMachine
    /// Whether the connection has its place at the server for good, or has lost it; nil until either is decided.
    private let hasPlace = Locked<Bool?>(nil)
    var descriptor: OwnedDescriptor?
    var registration: IORegistration?
    /// The size of the body that is arriving, if the budget counts it.
    var countedBody = 0
    /// Whether frames were added to the mailbox whose consumers stay suspended until the end of the run.
    var hasHeldBack = false
    /// The memory that the sender shares.
    var mappings: SharedMappings
    var wasReady = false
    var onReady: (() -> Void)?
    var onClosed: ((_ wasReady: Bool) -> Void)?
    var onDropped: (@Sendable () -> Void)?

    init(
        _ descriptor: consuming OwnedDescriptor,
        id: Int,
        thread: IOThread,
        configuration: FrameServer.Configuration,
        counts: ReceivedCounts,
        onUndecodable: @escaping @Sendable (_ index: Int) -> Void,
        onDiscarded: @escaping @Sendable (_ frames: Int, _ bytes: Int) -> Void
    ) {
        self.id = id
        self.thread = thread
        let owner = WeakReference<ReceivingDriver>()
        memory = configuration.memory.join {
            owner.object?.thread.execute {
                guard let driver = owner.object else { return }
                driver.change { $0.memoryAvailable(driver) }
            }
        } onDrop: {
            owner.object?.dropUnread()
        }
        tokens = configuration.tokens
        onRead = configuration.onRead
        self.counts = counts
        self.onDiscarded = onDiscarded
        var settings = ReceiverMachine.Configuration()
        settings.limits = configuration.limits
        settings.expectedToken = configuration.tokens?.expected
        settings.hello = configuration.hello
        settings.info = configuration.info
        settings.usualBody = memory.part.usualBody
        settings.audioLimit = memory.part.audio
        settings.largestBody = configuration.memory.largestBody
        settings.resetKeepsData = Syscalls.isLocal(descriptor.rawValue)
        settings.acceptsSharedMemory =
            configuration.acceptsSharedMemory && settings.resetKeepsData && SharedMemory.isSupported
        // A frame that is kept keeps neither the connection nor the thread.
        mappings = SharedMappings(configuration.memory, isOpen: settings.acceptsSharedMemory) { index in
            owner.object?.thread.execute {
                guard let driver = owner.object else { return }
                driver.change { $0.bufferReleased(index, driver) }
            }
        }
        if settings.acceptsSharedMemory { Syscalls.expectDescriptorsAlone(from: descriptor.rawValue) }
        self.descriptor = consume descriptor
        let limit = configuration.limits.maximumUndecodableFrames
        let tally = DecodingTally(limit: limit) { index in
            counts.undecodable.increment()
            onUndecodable(index)
        } onLimit: {
            guard let driver = owner.object else { return }
            driver.dropFrames(for: .undecodable(limit))
            driver.thread.execute { driver.change { $0.undecodableLimitReached(driver) } }
        }
        machine = ReceiverMachine(settings, pool: configuration.pool, tally: tally)
        let (memory, takenFrames) = (memory, takenFrames)
        mailbox = Mailbox(
            capacity: .init(count: 1, longest: FrameServer.Delivery.maximumReadAhead),
            overflow: configuration.delivery == .newest ? .replacesOldest : .refused,
            onLeave: { frame, leave in
                if frame.isCounted { memory.release(frame.header.contentLength) }
                switch leave {
                case .taken(let isLast):
                    let byteCount = frame.jpeg?.count ?? 0
                    takenFrames.add(byteCount: byteCount)
                    counts.taken.add(byteCount: byteCount)
                    if isLast { owner.object?.forgetIfConsumed() }
                case .replaced:
                    break
                case .discarded:
                    counts.discarded.increment()
                }
            },
            onRoom: {
                guard let driver = owner.object else { return }
                driver.thread.execute { driver.change { $0.roomAvailable(driver) } }
            }
        )
        audio = Mailbox(
            capacity: .init(
                count: Self.audioCapacity,
                weight: memory.part.audio
            ),
            overflow: .replacesOldest,
            onLeave: { _, leave in if leave == .taken(isLast: true) { owner.object?.forgetIfConsumed() } }
        )
        owner.object = self
    }

    /// Starts reading.
    ///
    /// - Parameters:
    ///   - onReady: Called when frames may arrive.
    ///   - onClosed: Called once, when the descriptor has been closed.
    ///   - onDropped: Called at most once, from any thread, when the sender's unread messages are dropped.
    func start(
        onReady: @escaping () -> Void,
        onClosed: @escaping (_ wasReady: Bool) -> Void,
        onDropped: @escaping @Sendable () -> Void
    ) {
        (self.onReady, self.onClosed, self.onDropped) = (onReady, onClosed, onDropped)
        guard let socket = descriptor?.rawValue else { return }
        do {
            registration = try thread.register(socket, self)
        } catch {
            return change { $0.readFailed(error, self) }
        }
        change { $0.start(self) }
    }

    /// Handles that the program has taken the connection, on any thread; see ``ReceiverMachine/taken(_:)``.
    func taken() {
        thread.execute { self.change { $0.taken(self) } }
    }

    /// Closes cleanly; see ``ReceiverMachine/close(_:_:)``.
    func close(_ reason: ControlRequest.FinishReason? = nil) {
        change { $0.close(reason, self) }
    }

    /// Closes cleanly once what has arrived is delivered; see ``ReceiverMachine/drain(_:)``.
    func drain() {
        change { $0.drain(self) }
    }

    /// Ends a connection whose sender has not sent its token; see ``ReceiverMachine/giveWay(_:)``.
    func giveWay() {
        change { $0.giveWay(self) }
    }

    /// Decides whether the connection keeps its place or loses it; returns false if the opposite has been decided.
    ///
    /// The server and the connection may run on different threads: whichever comes first decides.
    func decide(keepsPlace: Bool) -> Bool {
        hasPlace.withLock { hasPlace in
            let decision = hasPlace ?? keepsPlace
            hasPlace = decision
            return decision == keepsPlace
        }
    }

    /// Sends a request to the sender.
    func send(_ request: ControlRequest) {
        change { $0.send(request, self) }
    }

    /// Releases what can no longer be consumed, from any thread, because the program has released the connection.
    func abandon() {
        discardFrames(for: nil)
        audio.discard()
        memory.forget()
        thread.execute { self.close() }
    }

    /// Returns the room of a departed sender whose messages have all been taken.
    func forgetIfConsumed() {
        if mailbox.count + audio.count == 0 { memory.forget() }
    }

    /// Drops the frames that wait, on any thread: their consumer gets nothing but this error, at once.
    ///
    /// Even those of a sender that has left, all of which may have been read by now.
    private func dropFrames(for error: TransportError) {
        discardFrames(for: error)
        forgetIfConsumed()
    }

    private func discardFrames(for error: TransportError?) {
        if let error { closeReason.withLock { $0 = $0 ?? .failed(error) } }
        let count = mailbox.discard(error)
        if count > 0 { onDiscarded(count, 0) }
    }

    /// The bytes that its messages take, as seen from any thread.
    var memoryInFlight: Int { arriving.value + mailbox.weight + audio.weight }

    // MARK: Events

    func becameReady(_ readiness: Readiness) {
        change { $0.becameReady(readiness, self) }
    }

    func deadlinePassed() {
        change { $0.deadlinePassed(self) }
    }

    /// Reports an event, on the connection's thread.
    ///
    /// Not from within a call of the machine, which changes until it returns.
    func change(_ report: (inout ReceiverMachine) -> Void) {
        report(&machine)
        arriving.value = machine.heldByteCount
        if let registration {
            if registration.deadline != machine.deadline { registration.deadline = machine.deadline }
            registration.watchesRoom = machine.watchesRoom
        }
        // Once for everything in this run.
        guard hasHeldBack else { return }
        hasHeldBack = false
        mailbox.wakeWaiters()
    }
}
