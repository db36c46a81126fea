internal import Dispatch
public import FrameTransport
internal import Locking
internal import TurboJPEG

/// Sends the latest of the submitted frames, as fast as the receiver accepts them.
///
/// ```swift
/// let connection = SocketConnection(path: "/run/user/1000/rtc_SSFD")
/// let uploader = SampleUploader(connection: connection, configuration: .init(quality: 80, scale: .half))
/// uploader.send(image, orientation: .up)
/// try await uploader.finish()
/// connection.close()
/// ```
///
/// Submitting a frame never blocks: scaling, encoding and sending happen on the uploader's own queue. One frame is
/// encoded and sent at a time, and the newest waits until a newer one replaces it: late frames of live video are worthless. A
/// frame that fails to encode affects no other frame.
///
/// The uploader keeps the latest frame: the image as submitted, and what was last sent of it. A new receiver gets it at
/// once (``Configuration/sharesMemory`` has an exception), and so does one that requests a frame, resumes
/// after a pause, or wants frames again; a source with no new frame does not have to do anything. A frame that is sent
/// again keeps its timestamp, number and orientation.
///
/// A receiver may request a pause, another rate, size or quality, or an immediate frame, and the uploader complies for
/// as long as that receiver stays connected. Another size or quality applies to the latest image at once, which is sent
/// again, and what one receiver preferred does not show in what the next one gets. Only if the image has been given up
/// is its JPEG sent as it was: with ``Configuration/keepsLatestImage`` off, or once a newer frame has been
/// submitted. An image that was scaled by ``send(copying:color:orientation:timestamp:damage:)`` is not enlarged again.
///
/// The memory of an uploader is bounded by what it can hold at once: the image that is encoded, and the newest, or the newest
/// and the last JPEG. In addition, it keeps what encoding reuses: images in the
/// size that is sent, and with strips the last JPEG in its parts. The JPEG of a frame that is being sent comes to that, and the
/// three buffers of shared memory.
///
/// Thread safety: any thread may use an uploader at any time. Of frames submitted by several threads, the last one
/// counts as the newest.
public final class SampleUploader: Sendable {
    /// The outcome of submitting a frame.
    public enum Outcome: Sendable, Hashable {
        /// The frame will be sent, unless a newer one arrives before its turn, it turns out to equal the one before where
        /// such frames are left out, it cannot be encoded, or the connection ends.
        case taken
        /// The frame is not sent now, for this cause, but is kept as the latest frame. It is sent when the cause ends,
        /// unless a newer frame has been submitted by then.
        ///
        /// The cause is ``SampleUploader/DropCause/paced``, ``SampleUploader/DropCause/notConnected``, ``SampleUploader/DropCause/paused`` or
        /// ``SampleUploader/DropCause/notWanted``.
        case deferred(SampleUploader.DropCause)
        /// The frame will not be sent, at least not to this receiver.
        case dropped(SampleUploader.DropCause)
    }

    /// The connection that frames are sent on.
    public let connection: SocketConnection

    /// Whether a frame whose turn comes when it is submitted is encoded by its caller.
    let encodesOnCaller: Bool

    private let encoder = FrameEncoder()
    let digester = FrameDigester()

    /// The memory that is shared with the receiver.
    let shared = SharedBufferStore()

    /// Memory for images that are copied when they are submitted.
    let copies = PixelBuffer.Pool()

    /// All uploaders share the threads of the system's pool, as many as there are processors, however many uploaders there are.
    let queue = DispatchQueue(label: "framesocket.encode", qos: .userInitiated, target: .global(qos: .userInitiated))

    /// Makes every decision; locked for the duration of one event.
    let machine: Locked<UploaderMachine>

    // Created on first use. Locked while it is set, so that the last caller sets the latest deadline.
    private let timer = Locked<DeadlineTimer?>(nil)

    private let waiters = Locked(UploaderWaiters())

    /// The difficulties that the connection's log has been told of last.
    let reportedConditions = Locked(Conditions())

    /// The number of the uploader that was created last.
    private static let lastOwner = Locked<UInt64>(0)

    /// Serializes calls of ``update(_:)``, except those within another.
    private let updating = RecursiveLock()

    /// Creates an uploader that opens `connection` and sends to it.
    ///
    /// What the receiver has already requested applies from the start. Several uploaders may share a connection: each
    /// sends its own latest frame, and what the receiver requests applies to all of them. A frame that is due while
    /// another uploader's is being sent is tried again 100 ms later, so an uploader that keeps the connection busy leaves
    /// little room for others.
    public convenience init(connection: SocketConnection, configuration: Configuration = .init()) {
        self.init(connection: connection, configuration: configuration, encodesOnCaller: false)
    }

    /// Creates an uploader that also encodes on its caller's thread, if a frame's turn comes when it is submitted: for a
    /// program that waits for each frame, two switches of threads fewer.
    package init(connection: SocketConnection, configuration: Configuration, encodesOnCaller: Bool) {
        self.connection = connection
        self.encodesOnCaller = encodesOnCaller
        let owner = Self.lastOwner.withLock { last in
            last += 1
            return last
        }
        machine = Locked(UploaderMachine(configuration, owner: owner, shortestBody: connection.shortestBody))
        stateRate()
        connection.observeTerms(for: self) { uploader, terms in
            uploader.handle { $0.termsChanged(terms, at: MonotonicClock.now()) }
        }
        connection.onEnd { [weak self] in
            self?.handle { $0.close(at: MonotonicClock.now()) }
        }
        connection.open()
    }

    /// The statistics so far.
    public var statistics: Statistics { machine.withLock { $0.statistics } }

    /// The program's configuration, with the receiver's preferences applied.
    public var configuration: Configuration { machine.withLock { $0.configuration } }

    /// Changes the configuration from the next frame on; safe to call from any thread.
    ///
    /// ```swift
    /// uploader.update { $0.pacing = .framesPerSecond(5) }
    /// ```
    ///
    /// `change` receives the program's own configuration, without the receiver's preferences, and may use the uploader.
    /// Updates from several threads are serialized, so that none is lost; `change` must not wait for an update on
    /// another thread. An update inside `change` takes effect at once; if both change the same property, the outer one
    /// wins.
    public func update(_ change: (inout Configuration) -> Void) {
        updating.withLock {
            let old = machine.withLock { $0.ownConfiguration }
            var new = old
            change(&new)
            handle { machine in
                machine.update(machine.ownConfiguration.changed(from: old, to: new), at: MonotonicClock.now())
            }
        }
    }

    /// Sends the latest frame at once, regardless of pacing and even if it has been sent before.
    ///
    /// If no frame is kept, the next submitted frame is sent regardless of pacing.
    public func requestFrame() {
        handle { $0.requestFrame(at: MonotonicClock.now()) }
    }

    /// Forces the next submitted frame through pacing.
    package func passNextFrame() {
        handle { $0.passNextFrame() }
    }

    /// Releases the latest frame's image, if its JPEG is there to be sent instead.
    ///
    /// The image is kept so that a receiver that connects, or asks for another size or quality, gets it as it wants it.
    /// A program that calls this before it takes memory for its next image holds one at a time instead of two; until it
    /// sends that, such a receiver gets the latest frame as it was sent. A frame that is still to be encoded is not
    /// affected.
    public func giveUpImages() {
        _ = machine.withLock { $0.giveUpImages() }
    }

    // MARK: Waiting

    /// Waits until the machine has finished an event with an ID.
    ///
    /// It does not leave the caller's actor: that would cost a thread switch for every frame.
    func wait(
        _ cancellation: String,
        isolation: isolated (any Actor)?,
        for event: (inout UploaderMachine, _ id: UInt64) -> Void
    ) async -> Result<Void, TransportError> {
        let id = waiters.withLock { $0.nextID() }
        return await withTaskCancellationHandler {
            // Captured, so that this closure is isolated to the actor.
            _ = isolation
            return await withCheckedContinuation { continuation in
                waiters.withLock { $0.add(continuation, id) }
                handle { event(&$0, id) }
                if Task.isCancelled { cancelWait(id, cancellation) }
            }
        } onCancel: {
            cancelWait(id, cancellation)
        }
    }

    /// Whether the connected receiver gets frames in shared memory.
    package var isSharing: Bool { machine.withLock { $0.sharing.isOpen } }

    /// The number of calls that wait for frames.
    package var waiterCount: Int { machine.withLock { $0.waiterCount } }

    private func cancelWait(_ id: UInt64, _ message: String) {
        handle { $0.cancelWait(id, at: MonotonicClock.now()) }
        let error = TransportError(.cancelled, message)
        waiters.withLock { $0.take(id) }?.resume(returning: .failure(error))
    }

    // MARK: Effects

    /// Passes an event to the machine and performs the effects.
    @discardableResult
    func handle<Result>(onCaller: Bool = false, _ event: (inout UploaderMachine) -> Result) -> Result {
        var effects = UploaderMachine.Effects()
        let result = machine.withLock { machine in
            defer { swap(&effects, &machine.effects) }
            return event(&machine)
        }
        perform(&effects, onCaller: onCaller)
        return result
    }

    @inline(never)
    private func perform(_ effects: inout UploaderMachine.Effects, onCaller: Bool) {
        // Before the other effects, so that a program that waits for the next frame, and then draws in the image before it,
        // has that alone.
        if effects.discards { effects.release() }
        if effects.isEmpty { return }
        // Before the message: nobody waits for a frame that was submitted later, and what it does not follow is refused.
        for id in effects.finished {
            waiters.withLock { $0.take(id) }?.resume(returning: .success(()))
        }
        if effects.statesRate { stateRate() }
        if effects.tellsConditions { queue.async { self.reportConditions() } }
        if let message = effects.message { submit(message, for: effects.connection) }
        if let generation = effects.dropsBuffersBefore { shared.removeAll(before: generation) }
        if effects.setsTimer { setTimer() }
        guard effects.startsUpload else { return }
        if onCaller { return encodeNext(asksUnread: effects.asksUnread) }
        queue.async { [asksUnread = effects.asksUnread] in self.encodeNext(asksUnread: asksUnread) }
    }

    /// Has the connection state the rate of the pacing in effect to every later receiver.
    private func stateRate() {
        connection.stateFrameRate { self.configuration.pacing.rateInMillihertz }
    }

    /// Encodes a frame, on the queue or on the thread of its caller.
    private func encodeNext(asksUnread: Bool) {
        let unread = asksUnread ? connection.untakenByteCount : nil
        guard var job = handle({ $0.beginUpload(unread: unread, at: MonotonicClock.now()) }) else { return }
        let result = job.encode(with: encoder, digester, shared)
        if case .failed(let error) = result {
            connection.report(.warning, .frameDropped, "a frame could not be encoded: \(error)")
        }
        handle { $0.encoded(result, at: MonotonicClock.now()) }
    }

    private func submit(_ message: FrameMessage, for number: Int) {
        do throws(TransportError) {
            try connection.submit(message, for: number) { result in
                let failure: SampleUploader.DropCause? =
                    if case .failure(let error) = result { SampleUploader.DropCause(sending: error) } else { nil }
                self.handle { $0.sent(failure, at: MonotonicClock.now()) }
            }
        } catch {
            guard error.code != .sharedMemory else {
                return handle { $0.sharingRefused(at: MonotonicClock.now()) }
            }
            let failure = SampleUploader.DropCause(sending: error)
            handle { $0.sent(failure, at: MonotonicClock.now()) }
        }
    }

    private func setTimer() {
        timer.withLock { timer in
            let deadline = machine.withLock { $0.timer }
            if timer == nil {
                timer = DeadlineTimer(on: connection.thread) { [weak self] in
                    self?.handle { $0.deadlinePassed(at: MonotonicClock.now()) }
                }
            }
            timer?.set(deadline)
        }
    }
}

/// The callers waiting in ``SampleUploader/finish()``; few at a time.
///
/// Not a latch each: for a program that waits for every frame, generic code of another module would cost 7,000
/// instructions a frame.
private struct UploaderWaiters: Sendable {
    typealias Continuation = CheckedContinuation<Result<Void, TransportError>, Never>

    private var lastID: UInt64 = 0
    private var continuations: [(id: UInt64, continuation: Continuation)] = []

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    mutating func add(_ continuation: Continuation, _ id: UInt64) {
        continuations.append((id, continuation))
    }

    /// Removes a continuation, which the caller must resume; nil if it was already taken.
    mutating func take(_ id: UInt64) -> Continuation? {
        continuations.firstIndex { $0.id == id }.map { continuations.remove(at: $0).continuation }
    }
}
