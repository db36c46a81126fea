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
    let peer: PeerPolicy.Credentials?
    let thread: IOThread
    private weak var server: ListeningDriver?
    /// Where the server presents its connections, also while it ends; nil once this one is there, which keeps this driver.
    private var presenting: Mailbox<FrameConnection>?
    private let log: EventLog?
    /// What the server counts.
    private let counts: Locked<FrameServer.Statistics>
    let mailbox: Mailbox<Frame>
    let audio: Mailbox<AudioBlock>
    let statuses = Mailbox<SenderStatus>(capacity: 16, overflow: .replacesOldest)
    /// What the sender states about itself.
    let info = ObservedValue(ControlRequest.SessionInfo(), capacity: 16)
    let closed = Latch<CloseReason>()
    /// The reason for the end, as soon as nothing more is delivered.
    let closeReason = Locked<CloseReason?>(nil)

    /// The memory budget, and the connection's number there.
    let memory: FrameServer.MemoryBudget
    private let account: UInt64
    let onRead: (@Sendable (_ connection: Int, _ bytes: Span<UInt8>) -> Void)?
    /// The frames that the program has taken, and the bytes of their bodies.
    let takenFrames = Locked((frames: 0, bytes: UInt64(0)))
    /// The bytes that were read after this side had closed.
    private var discardedByteCount = 0
    /// The bytes of the body that is arriving, for other threads.
    private let arriving = Locked(0)
    private var heldByteCount = 0
    // The thread alone changes it, and no call of the machine comes back to it: that is not checked at each use.
    @exclusivity(unchecked) private(set) var machine: ReceiverMachine
    /// Whether the connection has its place at the server for good, or has lost it; nil until either is decided.
    private let hasPlace = Locked<Bool?>(nil)
    @exclusivity(unchecked) private var descriptor: OwnedDescriptor?
    private var registration: IORegistration?
    /// The size of the body that is arriving, if the budget counts it.
    private var countedBody = 0
    /// Whether frames were added to the mailbox whose consumers stay suspended until the end of the run.
    private var hasHeldBack = false
    /// The memory that the sender shares, by index; empty if no descriptors are accepted.
    @exclusivity(unchecked) var mappings: [SharedMapping?]
    @exclusivity(unchecked) var passed = PassedDescriptors()
    /// Called with the index of a buffer, from any thread, when the last reference to an image in it is released.
    let onImageRelease: @Sendable (_ index: Int) -> Void
    /// Whether the sender has shown its token, or needs none.
    private var wasReady: Bool
    private let isDropped = Locked(false)

    init(
        _ descriptor: consuming OwnedDescriptor,
        id: Int,
        peer: PeerPolicy.Credentials?,
        thread: IOThread,
        server: ListeningDriver
    ) {
        let (configuration, log, counts) = (server.configuration, server.log, server.counts)
        (self.id, self.peer, self.thread, self.server) = (id, peer, thread, server)
        (presenting, self.log, self.counts) = (server.mailbox, log, counts)
        wasReady = configuration.tokens == nil
        let owner = WeakReference<ReceivingDriver>()
        memory = configuration.memory
        let (account, part) = memory.change { $0.join(owner) }
        self.account = account
        onRead = configuration.onRead
        var settings = ReceiverMachine.Configuration()
        settings.limits = configuration.limits
        settings.expectedToken = configuration.tokens?.expected
        settings.ownToken = configuration.tokens?.own ?? []
        settings.hello = configuration.hello
        settings.info = configuration.info
        settings.usualBody = part.usualBody
        settings.audioLimit = part.audio
        settings.largestBody = configuration.memory.largestBody
        settings.resetKeepsData = Syscalls.isLocal(descriptor.rawValue)
        settings.acceptsSharedMemory =
            configuration.acceptsSharedMemory && settings.resetKeepsData && SharedMemory.isSupported
        let bufferCount = settings.acceptsSharedMemory ? SharedFrameHeader.Buffer.indices.count : 0
        unsafe mappings = Array(repeating: nil, count: bufferCount)
        // A frame that is kept keeps neither the connection nor the thread.
        onImageRelease = { index in
            // With every frame: one closure costs less than the two of a report.
            guard let driver = owner.object else { return }
            driver.thread.execute { driver.change { $0.bufferReleased(index, driver) } }
        }
        if settings.acceptsSharedMemory { Syscalls.expectDescriptorsAlone(from: descriptor.rawValue) }
        unsafe self.descriptor = consume descriptor
        let limit = configuration.limits.maximumUndecodableFrames
        let tally = DecodingTally(limit: limit) { index in
            counts.withLock { $0.undecodableFrames += 1 }
            let text = "frame \(index) could not be decoded"
            log?.report(.warning, .frameDropped, text, connection: id, peer: peer)
        } onLimit: {
            guard let driver = owner.object else { return }
            driver.dropFrames(for: .undecodable(limit))
            driver.report { $0.undecodableLimitReached($1) }
        }
        unsafe machine = ReceiverMachine(settings, pool: configuration.pool, tally: tally)
        let (memory, takenFrames) = (memory, takenFrames)
        mailbox = Mailbox(
            capacity: .init(count: 1, longest: FrameServer.Delivery.maximumReadAhead),
            overflow: configuration.delivery == .newest ? .replacesOldest : .refused,
            onLeave: { frame, leave in
                if frame.isCounted { memory.change { $0.release(frame.header.contentLength, of: account) } }
                switch leave {
                case .taken(let isLast):
                    let byteCount = UInt64(clamping: frame.jpeg?.count ?? 0)
                    takenFrames.withLock { $0 = ($0.frames + 1, $0.bytes + byteCount) }
                    counts.withLock { ($0.frames, $0.bytes) = ($0.frames + 1, $0.bytes + byteCount) }
                    if isLast { owner.object?.forgetIfConsumed() }
                case .replaced:
                    break
                case .discarded:
                    counts.withLock { $0.discardedFrames += 1 }
                }
            },
            onRoom: { owner.object?.report { $0.roomAvailable($1) } }
        )
        audio = Mailbox(
            capacity: .init(
                count: Self.audioCapacity,
                weight: part.audio
            ),
            overflow: .replacesOldest,
            onLeave: { _, leave in if leave == .taken(isLast: true) { owner.object?.forgetIfConsumed() } }
        )
        owner.object = self
    }

    /// The descriptor's number; nil once it is closed.
    var socket: Int32? { unsafe descriptor?.rawValue }

    /// Starts reading.
    func start() {
        guard let socket else { return }
        do {
            registration = try thread.register(socket, self)
        } catch {
            return change { $0.readFailed(error, self) }
        }
        change { $0.start(self) }
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

    /// Releases what can no longer be consumed, from any thread, because the program has released the connection.
    func abandon() {
        discardFrames(for: nil)
        audio.discard()
        forget()
        report { $0.close(nil, $1) }
    }

    /// Returns the room of a departed sender whose messages have all been taken.
    func forgetIfConsumed() {
        if mailbox.count + audio.count == 0 { forget() }
    }

    private func forget() { memory.change { $0.forget(account) } }

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
        if count > 0 { reportDiscarded(frames: count) }
    }

    /// Reports frames that had arrived, or bytes that came after the connection was closed, which were discarded.
    func reportDiscarded(frames: Int = 0, bytes: Int = 0) {
        let what = frames > 0 ? "\(frames) frame\(frames == 1 ? "" : "s") that had arrived" : "\(bytes) bytes"
        let wereNotTaken =
            frames == 1
            ? "was discarded: the program did not take it" : "were discarded: the program did not take them"
        log?.report(.warning, .framesDiscarded, "\(what) \(wereNotTaken)", connection: id, peer: peer)
    }

    /// The bytes that its messages take, as seen from any thread.
    var memoryInFlight: Int { arriving.withLock { $0 } + mailbox.weight + audio.weight }

    // MARK: Events

    /// Reports an event from any thread, later: the caller may just have been called by the machine.
    @inline(__always) func report(_ event: @escaping @Sendable (inout ReceiverMachine, ReceivingDriver) -> Void) {
        thread.execute { self.change { event(&$0, self) } }
    }

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
        unsafe report(&machine)
        let held = unsafe machine.heldByteCount
        if held != heldByteCount {
            heldByteCount = held
            arriving.withLock { $0 = held }
        }
        if let registration {
            let deadline = unsafe machine.deadline
            if registration.deadline != deadline { registration.deadline = deadline }
            registration.watchesRoom = unsafe machine.watchesRoom
        }
        // Once for everything in this run.
        guard hasHeldBack else { return }
        hasHeldBack = false
        mailbox.wakeWaiters()
    }
}

/// What the machine calls, on the connection's thread.
extension ReceivingDriver: ReceiverMachine.System {
    var now: UInt64 { MonotonicClock.now() }

    // MARK: The socket

    func read(into first: MemoryRun, _ second: MemoryRun) throws(Errno) -> Transfer {
        let transfer = try unsafe receive(into: first, second)
        if let onRead, case .bytes(let count, _) = transfer {
            // Of the body, and after it.
            let direct = min(count, first.count)
            if direct > 0 { unsafe onRead(id, Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: first[..<direct]))) }
            if count > direct {
                let spilled = unsafe UnsafeRawBufferPointer(rebasing: second[..<(count - direct)])
                unsafe onRead(id, Span(_unsafeBytes: spilled))
            }
        }
        return transfer
    }

    func readToken(into run: MemoryRun) throws(Errno) -> Transfer { try unsafe receive(into: run, .empty) }

    /// Reads and discards; the system closes what is passed with the bytes.
    func discard() throws(Errno) -> Transfer {
        guard let socket else { return .wouldBlock }
        let transfer = try unsafe withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) {
            scratch throws(Errno) in
            try unsafe Syscalls.receive(from: socket, into: scratch)
        }
        if wasReady, case .bytes(let count, _) = transfer { discardedByteCount += count }
        return transfer
    }

    func write(_ bytes: [UInt8]) throws(Errno) -> Transfer {
        guard let socket else { return .wouldBlock }
        return try Syscalls.send(to: socket, bytes[...])
    }

    func shutDownSending() { if let socket { Syscalls.shutdownSending(socket) } }
    func shutDownReceiving() { if let socket { Syscalls.shutdownReceiving(socket) } }

    func yield() {
        thread.executeAfterPoll { self.change { $0.resume(self) } }
    }

    var isCrowded: Bool { thread.isCrowded }

    // MARK: The server and the program

    func keepPlace() -> Bool { decide(keepsPlace: true) }

    func present() {
        wasReady = true
        log?.report(.debug, .connectionOpened, "a sender is connected", connection: id, peer: peer)
        server?.onThread { [id] machine, _ in machine.tokenShown(id) }
        presenting.take()?.put(FrameConnection(id: id, peer: peer, driver: self))
    }

    var hasUntakenFrames: Bool { mailbox.hasUntaken }

    func reserveRoom(onceEmpty: Bool) -> (room: Int, waitingByteCount: Int) {
        let (room, weight) = mailbox.reserve(onceEmpty: onceEmpty)
        return (room, weight)
    }

    func deliver(_ frame: consuming Frame, more: Bool) {
        frame.isCounted = countedBody > 0
        countedBody = 0
        let weight = frame.memoryByteCount
        if !mailbox.put(frame, weight: weight, more: more) { reportDiscarded(frames: 1) }
        hasHeldBack = hasHeldBack || more
    }

    func deliver(_ block: AudioBlock) { audio.put(block, weight: block.bytes.capacity) }
    func deliver(_ status: SenderStatus) { statuses.put(status) }
    func deliver(_ info: ControlRequest.SessionInfo) { self.info.change(to: info) }

    // MARK: Memory

    func askForMemory(byteCount: Int) -> Bool {
        guard memory.change({ $0.admit(byteCount, for: account) }) else { return false }
        countedBody = byteCount
        return true
    }

    func withdrawRequestForMemory() { memory.change { $0.withdraw(account) } }

    // MARK: Ending

    func endDelivery(_ reason: CloseReason) {
        releaseCountedBody()
        endMailboxes(nil, for: reason)
    }

    /// Releases the memory of a body that does not come to its end.
    private func releaseCountedBody() {
        if countedBody > 0 { memory.change { $0.release(countedBody, of: account) } }
        countedBody = 0
    }

    private func endMailboxes(_ error: TransportError?, for reason: CloseReason) {
        // Set first, so that whoever sees the end of the frames finds the reason.
        closeReason.withLock { $0 = reason }
        mailbox.end(error)
        audio.end()
        statuses.end()
        info.end()
    }

    func close(_ reason: CloseReason) {
        registration?.cancel()
        registration = nil
        unsafe descriptor = nil
        unsafe passed.removeAll()
        unmapBuffers()
        // Before the end is known, so that whoever learns of it finds the memory free.
        releaseCountedBody()
        closed.set(reason)
        endMailboxes(reason.error, for: reason)
        let unread = mailbox.weight + audio.weight
        memory.change { $0.depart(account, leaving: unread) }
        // The last message may have been taken meanwhile.
        forgetIfConsumed()
        if discardedByteCount > 0 { reportDiscarded(bytes: discardedByteCount) }
        presenting = nil
        reportEnd(reason)
        server?.onThread { [wasReady] machine, server in
            server.forget(self)
            machine.ended(self.id, wasReady: wasReady, server)
        }
    }

    /// Reports the end to the log; a connection that was never ready had no valid token.
    private func reportEnd(_ reason: CloseReason) {
        // One that was still in its handshake when the server ended was not refused.
        let isRefusal = if !wasReady, case .closedLocally = reason { false } else { !wasReady }
        log?.report(
            isRefusal || reason.error != nil ? .warning : .debug,
            isRefusal ? .refusedForToken : reason.error == nil ? .connectionEnded : .connectionFailed,
            isRefusal ? "a sender was refused, before it had sent the right token: \(reason)" : "\(reason)",
            connection: id,
            peer: peer,
            error: reason.error
        )
    }

    /// Drops what the sender has left unread, from any thread.
    func dropUnread() {
        let error = TransportError(
            .departedSenderDropped,
            "the sender of connection \(id) has left, and its unread frames were dropped because their memory was needed"
        )
        mailbox.discard(error)
        audio.discard()
        let text = "the sender has left, and its unread frames were dropped because their memory was needed"
        log?.report(.warning, .departedSenderDropped, text, connection: id, peer: peer)
        countDrop()
    }

    /// Counts the departed sender as dropped, once.
    func countDrop() {
        let isFirst = isDropped.withLock { isDropped in
            defer { isDropped = true }
            return !isDropped
        }
        if isFirst { counts.withLock { $0.droppedSenders += 1 } }
    }
}
