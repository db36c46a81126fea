internal import FrameWire

/// The receiving end of one connection: executes the decisions of its ``ReceiverMachine`` on the I/O thread.
///
/// - Note: `@unchecked Sendable` holds because mutable state is accessed only on `thread`; other threads reach it
///   through ``IOThread/execute(_:)``.
final class ReceivingDriver: IOHandler, @unchecked Sendable {
    /// The number of audio messages that wait for a consumer: 1.5 seconds in blocks of 1,024 at 44,100 Hz.
    private static let audioCapacity = 64

    let id: Int
    let thread: IOThread
    let mailbox: Mailbox<Frame>
    let audio: Mailbox<AudioMessage>
    let statuses = Mailbox<SenderStatus>(capacity: 16, overflow: .replacesOldest)
    let closed = Latch<CloseReason>()
    /// The number of audio messages dropped for lack of memory.
    let droppedAudio = Counter()

    let memory: MemoryBudget
    private let allowance: Int
    private let tokens: HandshakeTokens?
    private let tap: (any FrameServer.Tap)?
    private let counts: ReceivedCounts
    /// The bytes of the body that is arriving, for other threads.
    private let arriving = Counter()
    let unread: UnreadMessages
    var machine: ReceiverMachine
    /// The place at the server, which the server may revoke from its own thread.
    let place = RevocablePlace()
    private var descriptor: OwnedDescriptor?
    private var registration: IORegistration?
    /// The last request for memory that had to wait, as the budget numbers it.
    var lastRequest: UInt64?
    /// Whether frames were added to the mailbox whose consumers stay suspended until the end of the run.
    private var hasHeldBack = false
    /// The memory that the sender shares.
    var mappings: SharedMappings
    private var wasReady = false
    private var onReady: (() -> Void)?
    private var onClosed: ((_ wasReady: Bool) -> Void)?
    var onDropped: (@Sendable () -> Void)?

    init(
        _ descriptor: consuming OwnedDescriptor,
        id: Int,
        thread: IOThread,
        configuration: FrameServer.Configuration,
        counts: ReceivedCounts,
        onUndecodable: @escaping @Sendable (_ index: Int) -> Void
    ) {
        self.id = id
        self.thread = thread
        memory = configuration.memory
        tokens = configuration.tokens
        tap = configuration.tap
        self.counts = counts
        allowance = memory.join()
        var settings = ReceiverMachine.Configuration()
        settings.limits = configuration.limits
        settings.expectedToken = configuration.tokens?.expected
        settings.hello = configuration.hello
        settings.allowance = allowance
        settings.largestGrant = memory.largestGrant
        settings.resetKeepsData = Syscalls.isLocal(descriptor.rawValue)
        settings.acceptsSharedMemory =
            configuration.acceptsSharedMemory && settings.resetKeepsData && SharedMemory.isSupported
        mappings = SharedMappings(memory, isOpen: settings.acceptsSharedMemory)
        if settings.acceptsSharedMemory { Syscalls.expectDescriptorsAlone(from: descriptor.rawValue) }
        self.descriptor = consume descriptor
        let owner = WeakReference<ReceivingDriver>()
        let limit = configuration.limits.maximumUndecodableFrames
        let tally = DecodingTally(limit: limit) { index in
            counts.undecodable.increment()
            onUndecodable(index)
        } onLimit: {
            guard let driver = owner.object else { return }
            driver.dropFrames(for: .undecodable(limit))
            driver.thread.execute { driver.change { $0.undecodableLimitReached() } }
        }
        machine = ReceiverMachine(settings, pool: configuration.pool, tally: tally)
        let unread = UnreadMessages(memory)
        self.unread = unread
        mailbox = Mailbox(
            capacity: .init(count: 1, longest: FrameServer.Delivery.maximumReadAhead),
            overflow: configuration.delivery == .newest ? .replacesOldest : .refused,
            onTake: { _, isLast in if isLast { unread.consumed() } },
            onRoom: {
                guard let driver = owner.object else { return }
                driver.thread.execute { driver.change { $0.roomAvailable(at: MonotonicClock.now()) } }
            }
        )
        audio = Mailbox(
            capacity: .init(
                count: Self.audioCapacity,
                weight: ReceiverMachine.audioAllowance(of: allowance)
            ),
            overflow: .replacesOldest,
            onTake: { _, isLast in if isLast { unread.consumed() } }
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
            return change { $0.readFailed(error) }
        }
        change { $0.start(at: MonotonicClock.now()) }
    }

    /// Handles that the program has taken the connection, on any thread; see ``ReceiverMachine/taken(at:)``.
    func taken() {
        thread.execute { self.change { $0.taken(at: MonotonicClock.now()) } }
    }

    /// Closes cleanly; see ``ReceiverMachine/close(_:at:)``.
    func close(_ reason: FinishReason? = nil) {
        change { $0.close(reason, at: MonotonicClock.now()) }
    }

    /// Closes cleanly once what has arrived is delivered; see ``ReceiverMachine/drain(at:)``.
    func drain() {
        change { $0.drain(at: MonotonicClock.now()) }
    }

    /// Ends a connection whose sender has not sent its token; see ``ReceiverMachine/giveWay(at:)``.
    func giveWay() {
        change { $0.giveWay(at: MonotonicClock.now()) }
    }

    /// Sends a request to the sender.
    func send(_ request: ControlRequest) {
        change { $0.send(request, at: MonotonicClock.now()) }
    }

    /// Releases what can no longer be consumed, from any thread, because the program has released the connection.
    func abandon() {
        mailbox.discard()
        audio.discard()
        unread.release()
        thread.execute { self.close() }
    }

    /// Drops the frames that wait, on any thread: their consumer gets nothing but this error, at once.
    ///
    /// Even those of a sender that has left, all of which may have been read by now.
    private func dropFrames(for error: TransportError) {
        mailbox.discard(error)
        unread.consumed()
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        change { $0.becameReady(readiness, at: MonotonicClock.now()) }
    }

    func deadlinePassed() {
        change { $0.deadlinePassed(at: MonotonicClock.now()) }
    }

    // MARK: Commands

    func change(_ change: (inout ReceiverMachine) -> Void) {
        change(&machine)
        run()
    }

    private func run() {
        while let command = machine.nextCommand() { perform(command) }
        arriving.value = machine.heldByteCount
        // Once for everything in this run.
        guard hasHeldBack else { return }
        hasHeldBack = false
        mailbox.wakeWaiters()
    }

    private func perform(_ command: ReceiverMachine.Command) {
        switch command {
        case .read: read()
        case .deliver(let frame, let more): deliver(frame, more: more)
        case .deliverShared(let frame, let header, let more): deliver(shared(frame, header), more: more)
        case .mapBuffer(let header): map(header)
        case .dropDescriptor: mappings.dropDescriptor()
        case .unmapBuffers: mappings.removeAll()
        case .deliverAudio(let message): audio.put(message, weight: message.samples.capacity)
        case .deliverStatus(let status): statuses.put(status)
        case .countDroppedAudio: droppedAudio.increment()
        case .reserveRoom(let onceEmpty): reserveRoom(onceEmpty: onceEmpty)
        case .askForMemory(let byteCount, let request): ask(for: byteCount, request: request)
        case .withdrawRequestForMemory: withdrawRequest()
        case .setDeadline(let deadline): registration?.deadline = deadline
        case .watchRoom(let watches): registration?.watchesRoom = watches
        case .writeRequests: writeRequests()
        case .readToken(let count): readToken(count)
        case .keepPlace: machine.didKeepPlace(place.keep(), at: MonotonicClock.now())
        case .writeToken: writeToken()
        case .present:
            wasReady = true
            onReady?()
            onReady = nil
        case .shutDownSending: if let socket = descriptor?.rawValue { Syscalls.shutdownSending(socket) }
        case .shutDownReceiving: if let socket = descriptor?.rawValue { Syscalls.shutdownReceiving(socket) }
        case .discard: discard()
        case .yield:
            thread.executeAfterPoll { self.change { $0.resume(at: MonotonicClock.now()) } }
        case .endDelivery: endMailboxes(nil)
        case .close(let reason): finish(reason)
        }
    }

    private func read() {
        guard let socket = descriptor?.rawValue else { return }
        let runs: (MemoryRun, MemoryRun)
        do {
            unsafe runs = try machine.readTargets()
        } catch {
            return machine.readFailed(error)
        }
        do throws(Errno) {
            switch try unsafe mappings.receive(from: socket, into: runs.0, runs.1) {
            case .bytes(0, _):
                machine.endOfStream()
            case .bytes(let count, let isShort):
                if let tap { unsafe show(tap, count, runs) }
                if let (count, areLost) = mappings.takeArrivals() {
                    machine.didReceiveDescriptors(count, areLost: areLost)
                }
                unsafe machine.didRead(count, into: runs.0.count, isShort: isShort, at: MonotonicClock.now())
            case .wouldBlock:
                machine.wouldBlock(at: MonotonicClock.now())
            }
        } catch {
            machine.readFailed(error)
        }
    }

    /// Shows the tap the bytes read: of the body, and after it.
    private func show(_ tap: any FrameServer.Tap, _ count: Int, _ runs: (MemoryRun, MemoryRun)) {
        let direct = unsafe min(count, runs.0.count)
        if direct > 0 {
            unsafe tap.connection(id, didRead: Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: runs.0[..<direct])))
        }
        if count > direct {
            let spilled = count - direct
            unsafe tap.connection(id, didRead: Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: runs.1[..<spilled])))
        }
    }

    private func discard() {
        readScratch(16 << 10, isDiscarding: true) { machine, _ in machine.didDiscard() }
    }

    private func readToken(_ count: Int) {
        readScratch(count, isDiscarding: false) { machine, bytes in
            machine.didReadToken(bytes, at: MonotonicClock.now())
        }
    }

    /// Reads once into temporary memory; the system closes what is passed with bytes that are discarded.
    private func readScratch(
        _ capacity: Int,
        isDiscarding: Bool,
        _ take: (inout ReceiverMachine, Span<UInt8>) -> Void
    ) {
        guard let socket = descriptor?.rawValue else { return }
        unsafe withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 16) { scratch in
            do throws(Errno) {
                let result =
                    isDiscarding
                    ? try unsafe Syscalls.receive(from: socket, into: scratch)
                    : try unsafe mappings.receive(from: socket, into: scratch, .empty)
                if let (count, areLost) = mappings.takeArrivals() {
                    machine.didReceiveDescriptors(count, areLost: areLost)
                }
                switch result {
                case .bytes(0, _):
                    machine.endOfStream()
                case .bytes(let count, _):
                    unsafe take(&machine, Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: scratch[..<count])))
                case .wouldBlock:
                    machine.wouldBlock(at: MonotonicClock.now())
                }
            } catch {
                machine.readFailed(error)
            }
        }
    }

    private func writeToken() {
        guard let socket = descriptor?.rawValue, let tokens else { return }
        var failure: TransportError?
        do {
            try tokens.show(to: socket)
        } catch {
            failure = error
        }
        machine.didWriteToken(failure, at: MonotonicClock.now())
    }

    private func writeRequests() {
        guard let socket = descriptor?.rawValue else { return }
        let bytes = machine.outbox.bytes
        do throws(Errno) {
            switch try Syscalls.send(to: socket, bytes[...]) {
            case .bytes(let count, _): machine.didWriteRequests(count)
            case .wouldBlock: machine.didWriteRequests(0)
            }
        } catch {
            machine.requestsFailed(error)
        }
    }

    private func reserveRoom(onceEmpty: Bool) {
        let (room, waiting) = mailbox.reserve(onceEmpty: onceEmpty)
        machine.reserved(room, behind: waiting)
    }

    /// The bytes that its messages take, as seen from any thread.
    var memoryInFlight: Int { arriving.value + mailbox.weight + audio.weight }

    private func deliver(_ frame: Frame, more: Bool) {
        counts.frames.increment()
        counts.bytes.add(frame.jpeg.count)
        mailbox.put(frame, weight: frame.memoryByteCount, more: more)
        hasHeldBack = hasHeldBack || more
    }

    // MARK: Ending

    private func endMailboxes(_ error: TransportError?) {
        mailbox.end(error)
        audio.end()
        statuses.end()
    }

    private func finish(_ reason: CloseReason) {
        registration?.cancel()
        registration = nil
        descriptor = nil
        mappings.close()
        memory.leave(allowance)
        // Set first, so that whoever sees the end of the frames finds the reason.
        closed.set(reason)
        endMailboxes(reason.error)
        keepUnread()
        onClosed?(wasReady)
        (onReady, onClosed) = (nil, nil)
    }
}
