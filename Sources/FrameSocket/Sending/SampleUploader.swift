internal import Dispatch
public import FrameTransport
public import FrameWire
internal import Locking
public import TurboJPEG

/// Sends the latest of the submitted frames, as fast as the receiver accepts them.
///
///     let connection = SocketConnection(path: "/run/user/1000/rtc_SSFD")
///     let uploader = SampleUploader(connection: connection, configuration: .init(quality: 80, scale: .half))
///     uploader.send(image, orientation: .up)
///
/// Submitting a frame never blocks: scaling, encoding and sending happen on the uploader's own queue. Only the header of
/// a frame that was drawn in shared memory is written by the calling thread, as far as the socket has room. One frame is
/// encoded and sent at a time, and one waits until a newer one replaces it: late frames of live video are worthless. A
/// frame that fails to encode affects no other frame. If the pacing skips unchanged frames, submitting one that is due
/// also costs one pass over its bytes.
///
/// The uploader keeps the latest frame: as submitted until it is encoded, then as its JPEG. A new receiver gets it at
/// once, and so does one that requests a frame, resumes after a pause, or wants frames again; a source with no new
/// frame does not have to do anything. A frame that is sent again keeps its timestamp, number and orientation.
///
/// A receiver may request a pause, another rate, size or quality, or an immediate frame, and the uploader complies for
/// as long as that receiver stays connected. Another size or quality applies from the next frame on; the latest frame
/// is encoded that way only if it has not been encoded yet.
public final class SampleUploader: Sendable {
    /// The outcome of submitting a frame.
    public enum Outcome: Sendable, Hashable {
        /// The frame will be sent, unless a newer one arrives before its turn, it cannot be encoded, or the connection
        /// ends.
        case taken
        /// The frame is not sent now, for this cause, but is kept as the latest frame. It is sent when the cause ends,
        /// unless a newer frame has been submitted by then.
        ///
        /// The cause is ``DropCause/paced``, ``DropCause/notConnected``, ``DropCause/paused`` or
        /// ``DropCause/notWanted``.
        case deferred(DropCause)
        /// The frame will not be sent.
        case dropped(DropCause)
    }

    /// The connection that frames are sent on.
    public let connection: SocketConnection

    private let encoder = FrameEncoder()
    private let digester = FrameDigester()

    /// The memory that is shared with the receiver.
    private let shared = SharedBufferStore()

    /// Memory for images that are copied when they are submitted.
    private let copies = PixelBuffer.Pool()

    /// Memory for images to draw in that are not sent in shared memory.
    private let drawn = PixelBuffer.Pool()
    private let queue = DispatchQueue(label: "framesocket.encode", qos: .userInitiated)

    /// Makes every decision; locked for the duration of one event.
    private let machine: Locked<UploaderMachine>

    // Created on first use. Locked while it is set, so that the last caller sets the latest deadline.
    private let timer = Locked<DeadlineTimer?>(nil)

    private let waiters = Locked(FinishWaiters())

    /// Serializes calls of ``update(_:)``.
    private let updating = Locked(())

    /// The uploader that the current task is updating.
    @TaskLocal private static var updated: ObjectIdentifier?

    /// Creates an uploader that opens `connection` and sends to it.
    ///
    /// What the receiver has already requested applies from the start. Create only one uploader for a connection.
    public init(connection: SocketConnection, configuration: Configuration = .init()) {
        self.connection = connection
        machine = Locked(UploaderMachine(configuration))
        connection.observeTerms { [weak self] terms in
            self?.handle { $0.termsChanged(terms, at: MonotonicClock.now()) }
        }
        connection.onEnd { [weak self] in
            self?.handle { $0.close(at: MonotonicClock.now()) }
        }
        connection.open()
    }

    /// The statistics so far.
    public var statistics: Statistics { machine.withLock { $0.statistics } }

    /// The configuration in effect: the program's own, with the receiver's preferences applied.
    public var configuration: Configuration { machine.withLock { $0.configuration } }

    /// Changes the configuration from the next frame on; safe to call from any thread.
    ///
    ///     uploader.update { $0.pacing = .framesPerSecond(5) }
    ///
    /// `change` receives the program's own configuration, without the receiver's preferences, and may use the uploader.
    /// Updates from several threads are serialized, so that none is lost; `change` must not wait for an update on
    /// another thread. An update inside `change` takes effect at once; if both change the same property, the outer one
    /// wins.
    ///
    /// The memory limit stays at its initial value, whatever is assigned.
    public func update(_ change: (inout Configuration) -> Void) {
        let id = ObjectIdentifier(self)
        guard Self.updated != id else { return apply(change) }
        Self.$updated.withValue(id) {
            updating.withLock { _ in apply(change) }
        }
    }

    private func apply(_ change: (inout Configuration) -> Void) {
        let old = machine.withLock { $0.ownConfiguration }
        var new = old
        change(&new)
        handle { machine in
            machine.update(machine.ownConfiguration.changed(from: old, to: new), at: MonotonicClock.now())
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

    // MARK: Shared memory

    /// Whether the connected receiver gets frames in shared memory.
    public var isSharing: Bool { machine.withLock { $0.pool.isOpen } }

    /// Returns an image to draw in, with undefined content: if possible, one that is sent without a copy.
    ///
    /// Draw in it and submit it with ``send(_:orientation:timestamp:)``. If the receiver accepts shared memory, one of
    /// the buffers is free, and the image is sent at its own size, the receiver sees the memory itself. Otherwise it is
    /// an ordinary image, which is copied or encoded. After submitting, release the image: changing it would first copy
    /// it.
    ///
    /// - Parameters:
    ///   - width: The width, 1 to 65,500 pixels.
    ///   - height: The height, 1 to 65,500 pixels.
    ///   - format: The arrangement of the bytes.
    /// - Returns: The image.
    /// - Throws: `invalidSize`, `allocationFailed`.
    public func makeBuffer(width: Int, height: Int, format: PixelFormat) throws(TurboJPEGError) -> PixelBuffer {
        let byteCount = try PixelBuffer.byteCount(width: width, height: height, format: format)
        guard let (lease, needsNewMemory) = handle({ $0.lend(byteCount) }) else {
            return try drawn.buffer(width: width, height: height, format: format)
        }
        guard let claim = try? shared.claim(lease, isNew: needsNewMemory, onRelease: leaseEnded) else {
            handle { $0.lendingFailed(lease) }
            return try drawn.buffer(width: width, height: height, format: format)
        }
        shared.willDraw(in: lease)
        return try unsafe PixelBuffer(
            in: claim.memory.bytes,
            lentBy: claim,
            width: width,
            height: height,
            format: format
        )
    }

    /// Waits until ``makeBuffer(width:height:format:)`` can return memory that is sent without a copy.
    ///
    /// Use it before drawing each frame if the source can wait for its receiver:
    ///
    ///     while let scene = await scenes.next() {
    ///         try await uploader.waitForBuffer()
    ///         var image = try uploader.makeBuffer(width: 1920, height: 1080, format: .bgra)
    ///         try scene.draw(in: &image)
    ///         uploader.send(consume image)
    ///     }
    ///
    /// Waits for a buffer that the receiver has, and for a new receiver to state whether it accepts shared memory. Returns
    /// at once if nothing is shared, or if every buffer is held by this program.
    ///
    /// - Throws: `cancelled` if the calling task is cancelled first.
    public func waitForBuffer() async throws(TransportError) {
        guard machine.withLock({ $0.expectsBuffer(at: MonotonicClock.now()) }) else { return }
        try await wait("waiting for a shared buffer was cancelled", isolation: #isolation) { machine, id in
            machine.awaitBuffer(id, at: MonotonicClock.now())
        }.get()
    }

    // MARK: Submitting frames

    /// Submits a frame.
    ///
    /// Never blocks, and keeps only a reference to the pixels.
    ///
    /// - Parameters:
    ///   - image: The pixels. Later changes to the buffer affect a copy.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds. Default: the current time of `MonotonicClock`.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped.
    @discardableResult
    public func send(_ image: PixelBuffer, orientation: FrameOrientation = .up, timestamp: UInt64? = nil) -> Outcome {
        offer(.pixels(image), orientation, timestamp)
    }

    /// Submits a frame whose memory its source reuses, copying what is sent before returning.
    ///
    /// Use this method for sources that draw the next image over the last one, such as ReplayKit and shared memory of a
    /// window system. The call scales the image to the size that is sent, or copies it, and converts the samples of
    /// planar formats if `color` differs from a JPEG's. It does not wait for anything else. The memory of the copies is
    /// reused, for at most three images.
    ///
    /// - Parameters:
    ///   - image: The pixels. They may change as soon as the call returns.
    ///   - color: The color space of the samples of a planar format. Default: that of a JPEG.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds. Default: the current time of `MonotonicClock`.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped; `encodingFailed` if it cannot be
    ///   copied.
    @discardableResult
    public func send(
        copying image: PixelBuffer,
        color: VideoColor = .jpeg,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> Outcome {
        switch handle({ $0.offerCopy(of: image, orientation: orientation) }) {
        case .decided(let outcome):
            return outcome
        case .copy(let plan):
            do throws(TurboJPEGError) {
                return offer(.scaled(try plan.copy(image, of: color, pool: copies)), orientation, timestamp)
            } catch {
                return handle { $0.offerFailed(error) }
            }
        }
    }

    /// Submits a JPEG, to be sent unchanged.
    ///
    /// Never blocks. The configured quality and size do not apply.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG.
    ///   - bufferSize: The image's size, for the message's header.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds. Default: the current time of `MonotonicClock`.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped.
    @discardableResult
    public func send(
        jpeg: FrameBytes,
        bufferSize: BufferSize,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> Outcome {
        offer(.jpeg(jpeg, bufferSize), orientation, timestamp)
    }

    /// Submits a JPEG, to be sent in the configured size.
    ///
    /// Never blocks. If the configured size differs from the JPEG's own, the JPEG is decoded at the smallest sufficient
    /// size, scaled, and encoded at the configured quality. Otherwise it is sent unchanged.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds. Default: the current time of `MonotonicClock`.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped; `encodingFailed` if it is not a
    ///   JPEG.
    @discardableResult
    public func send(
        resizing jpeg: FrameBytes,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> Outcome {
        do throws(TurboJPEGError) {
            let header = try jpeg.withBytes { bytes throws(TurboJPEGError) in try JPEGHeader(inspecting: bytes) }
            let size = BufferSize(width: header.width, height: header.height)
            return offer(.resizableJPEG(jpeg, size), orientation, timestamp)
        } catch {
            return handle { $0.offerFailed(error) }
        }
    }

    private func offer(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ timestamp: UInt64?
    ) -> Outcome {
        let now = MonotonicClock.now()
        let frame = UploadFrame(content, orientation: orientation, timestamp: timestamp, offeredAt: now)
        var outcome: Outcome
        switch handle({ $0.offer(frame, at: now) }) {
        case .decided(let decision):
            outcome = decision
        case .compare(var frame):
            // No lock is held here: another thread may submit a newer frame, which then replaces this one.
            frame.digest = digester.digest(content, orientation: orientation)
            outcome = handle { $0.admit(frame, at: MonotonicClock.now()) }
        }
        // A caller that has seen the connection end should not see a deferral because this uploader has not been told
        // yet.
        if outcome == .deferred(.notConnected), connection.hasEnded {
            handle { $0.close(at: MonotonicClock.now()) }
            outcome = .dropped(.notConnected)
        }
        return outcome
    }

    // MARK: Finishing

    /// Waits until every frame submitted before the call is sent or dropped.
    ///
    /// A frame that the pacing has deferred is sent at once. A frame that is deferred because no receiver is connected,
    /// or because the receiver wants no frames, is not waited for. Frames submitted during the call do not prolong it.
    ///
    /// - Throws: `cancelled` if the calling task is cancelled first.
    public func finish() async throws(TransportError) {
        try await wait("waiting for frames was cancelled", isolation: #isolation) { machine, id in
            machine.finish(id, at: MonotonicClock.now())
        }.get()
    }

    /// Waits until the machine has finished an event with an ID.
    ///
    /// It does not leave the caller's actor: that would cost a thread switch for every frame.
    private func wait(
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

    /// The number of calls that wait for frames or for a buffer.
    package var waiterCount: Int { machine.withLock { $0.waiterCount } }

    private func cancelWait(_ id: UInt64, _ message: String) {
        handle { $0.cancelWait(id) }
        let error = TransportError(.cancelled, message)
        waiters.withLock { $0.take(id) }?.resume(returning: .failure(error))
    }

    // MARK: Effects

    /// Passes an event to the machine and performs the effects.
    @discardableResult
    private func handle<Result>(_ event: (inout UploaderMachine) -> Result) -> Result {
        let (result, effects) = machine.withLock { machine in
            let result = event(&machine)
            return (result, machine.takeEffects())
        }
        if !effects.isEmpty { perform(effects) }
        return result
    }

    private func perform(_ effects: UploaderMachine.Effects) {
        if let message = effects.message { submit(message) }
        if let lease = effects.dropsBuffersBefore { shared.removeAll(before: lease) }
        if effects.startsTurn { queue.async { self.takeTurn() } }
        if effects.setsTimer { setTimer() }
        if let id = effects.refusesPreferencesOf { connection.refusePreferences(of: id) }
        for id in effects.finished {
            waiters.withLock { $0.take(id) }?.resume(returning: .success(()))
        }
    }

    /// Encodes a frame, on the queue.
    private func takeTurn() {
        guard var job = handle({ $0.beginTurn(at: MonotonicClock.now()) }) else { return }
        let result = job.encode(with: encoder, digester, shared, onRelease: leaseEnded)
        handle { $0.encoded(result, at: MonotonicClock.now()) }
    }

    /// What to do when nothing refers to an image in a shared buffer any longer.
    ///
    /// The last reference may be released anywhere, even within the machine's lock or another one: whatever cannot be
    /// done without waiting, or has effects, is done on the queue.
    private var leaseEnded: @Sendable (SharedPool.Lease) -> Void {
        { [weak self, queue] lease in
            let effects = self?.machine.withLockIfAvailable { machine in
                machine.leaseEnded(lease, at: MonotonicClock.now())
                return machine.takeEffects()
            }
            if effects?.isEmpty ?? false { return }
            queue.async { [weak self] in
                guard let self else { return }
                if let effects { perform(effects) } else { handle { $0.leaseEnded(lease, at: MonotonicClock.now()) } }
            }
        }
    }

    private func submit(_ message: FrameSubmission) {
        do throws(TransportError) {
            try connection.submit(message) { result in
                let failure: DropCause? =
                    if case .failure(let error) = result { DropCause(sending: error) } else { nil }
                self.handle { $0.sent(failure, at: MonotonicClock.now()) }
            }
        } catch {
            let failure = DropCause(sending: error)
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
