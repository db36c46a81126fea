internal import Dispatch
public import FrameTransport
public import FrameWire
internal import Locking
public import TurboJPEG

/// Sends the latest of the frames that it is offered, as fast as the receiver accepts them.
///
///     let connection = SocketConnection(path: "/run/user/1000/rtc_SSFD")
///     let uploader = SampleUploader(connection: connection, configuration: .init(quality: 80, scale: .half))
///     uploader.send(image, orientation: .up)
///
/// Offering a frame never blocks: scaling, encoding and sending happen on a queue of the uploader's own. One frame is
/// encoded and sent at a time, one waits, and a newer one takes its place; live video is worth nothing late. A frame
/// that cannot be encoded costs only itself. If the pacing skips unchanged frames, offering one that is due also costs one
/// pass over its bytes.
///
/// The latest frame is kept: as it was offered until it is encoded, then as its JPEG. A new receiver gets it at once, and
/// so does one that asks for a frame, resumes after a pause, or wants frames again; a source that has nothing new to offer
/// need not do anything for that. A frame that is sent again keeps its timestamp, number and orientation.
///
/// A receiver may ask for a pause, another rate, size or quality, or a frame now, and the uploader obeys for as long as
/// that receiver stays. Another size or quality applies from the next frame on; the latest frame is encoded that way only
/// if it has not been encoded yet.
public final class SampleUploader: Sendable {
    /// What became of a frame when it was offered.
    public enum Outcome: Sendable, Hashable {
        /// It will be sent, unless a newer one comes before its turn, it cannot be encoded, or the connection ends.
        case taken
        /// It is not sent now, for this cause, but kept as the latest frame: it is sent when the cause ends, unless a newer
        /// frame has been offered by then.
        ///
        /// The cause is ``DropCause/paced``, ``DropCause/notConnected``, ``DropCause/paused`` or ``DropCause/notWanted``.
        case deferred(DropCause)
        /// It will not be sent.
        case dropped(DropCause)
    }

    /// Where frames go.
    public let connection: SocketConnection

    private let encoder = FrameEncoder()
    private let digester = FrameDigester()

    /// The memory of images that were copied when they were offered.
    private let copies = PixelBufferPool()
    private let queue = DispatchQueue(label: "framesocket.encode", qos: .userInitiated)

    /// Everything that is decided; held for as long as one event takes.
    private let machine: Locked<UploaderMachine>

    // Made when it is first needed. Locked while it is set, so that whoever sets it last sets what is wanted last.
    private let timer = Locked<DeadlineTimer?>(nil)

    private let waiters = Locked(FinishWaiters())

    /// Held by one ``update(_:)`` at a time, and by nothing else.
    private let updating = Locked(())

    /// The uploader that the current task is updating.
    @TaskLocal private static var updated: ObjectIdentifier?

    /// Creates an uploader that opens `connection` and sends to it.
    ///
    /// What the receiver has asked for by now applies from the beginning. A connection has one uploader.
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

    /// What has been done so far.
    public var statistics: SendingStatistics { machine.withLock { $0.statistics } }

    /// How frames are treated at present: as the program has set it, except for what the receiver prefers.
    public var configuration: Configuration { machine.withLock { $0.configuration } }

    /// Changes the configuration from the next frame on, from any thread.
    ///
    ///     uploader.update { $0.pacing = .framesPerSecond(5) }
    ///
    /// `change` gets the program's own configuration, without what the receiver prefers, and may use the uploader. Updates
    /// of several threads follow one another, so that none is lost, and `change` must not wait for another thread's. An
    /// update inside `change` takes effect at once; if both change the same property, the outer one wins.
    ///
    /// The memory limit stays what it was at the beginning, whatever is assigned.
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

    /// Sends the latest frame at once, whatever the pacing and whether it has been sent or not.
    ///
    /// If no frame is kept, the next one that is offered is sent whatever the pacing.
    public func requestFrame() {
        handle { $0.requestFrame(at: MonotonicClock.now()) }
    }

    /// Sends the next frame that is offered, whatever the pacing.
    package func passNextFrame() {
        handle { $0.passNextFrame() }
    }

    // MARK: Offering frames

    /// Offers a frame.
    ///
    /// Never blocks, and keeps no more than a reference to the pixels.
    ///
    /// - Parameters:
    ///   - picture: The pixels. Changing the buffer afterwards changes a copy.
    ///   - orientation: How the image lies.
    ///   - timestamp: The presentation time in nanoseconds; by default now, by `MonotonicClock`.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped.
    @discardableResult
    public func send(_ picture: PixelBuffer, orientation: FrameOrientation = .up, timestamp: UInt64? = nil) -> Outcome {
        offer(.pixels(picture), orientation, timestamp)
    }

    /// Offers a frame in memory that its source uses again, and copies what is sent of it before returning.
    ///
    /// For sources that draw the next image over the last one, such as ReplayKit and shared memory of a window system. Takes as
    /// long as scaling the image to the size that is sent, or copying it, and converting the samples of planar formats if
    /// `color` differs from a JPEG's. It waits for nothing. The copies' memory is used again, for three images at most.
    ///
    /// - Parameters:
    ///   - image: The pixels. They may be changed once this has returned.
    ///   - color: What the samples of a planar format mean. Default: what those of a JPEG do.
    ///   - orientation: How the image lies.
    ///   - timestamp: The presentation time in nanoseconds; by default now, by `MonotonicClock`.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped; `encodingFailed` if it cannot be copied.
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

    /// Offers a frame that is a JPEG already, to be sent as it is.
    ///
    /// Never blocks. Quality and size of the configuration do not apply.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG.
    ///   - bufferSize: The image's size, as the message's header states it.
    ///   - orientation: How the image lies.
    ///   - timestamp: The presentation time in nanoseconds; by default now, by `MonotonicClock`.
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

    /// Offers a JPEG, to be sent in the configured size.
    ///
    /// Never blocks. If the size is another than its own, the JPEG is decoded in the least size that will do, scaled, and
    /// encoded in the configured quality; else it is sent as it is.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG.
    ///   - orientation: How the image lies.
    ///   - timestamp: The presentation time in nanoseconds; by default now, by `MonotonicClock`.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped; `encodingFailed` if it is no JPEG.
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
            // No lock is held meanwhile: another thread may offer a newer frame, which then takes this one's place.
            frame.digest = digester.digest(content, orientation: orientation)
            outcome = handle { $0.admit(frame, at: MonotonicClock.now()) }
        }
        // Whoever has seen the end of the connection need not wait until this uploader has been told.
        if outcome == .deferred(.notConnected), connection.hasEnded {
            handle { $0.close(at: MonotonicClock.now()) }
            outcome = .dropped(.notConnected)
        }
        return outcome
    }

    // MARK: Finishing

    /// Waits until every frame that was offered before is sent or dropped.
    ///
    /// A frame that the pacing has deferred is sent at once. One that is deferred because nobody is connected, or nobody
    /// wants frames, is not waited for. Frames that are offered meanwhile do not prolong this.
    ///
    /// - Throws: `cancelled` if the caller's task is cancelled first.
    public func finish() async throws(TransportError) {
        try await finish(waiters.withLock { $0.nextID() }, isolation: #isolation).get()
    }

    /// Waits under a number, without leaving the caller's actor: that would cost a change of thread for each frame.
    private func finish(_ id: UInt64, isolation: isolated (any Actor)?) async -> Result<Void, TransportError> {
        await withTaskCancellationHandler {
            // Named, so that this closure belongs to the actor.
            _ = isolation
            return await withCheckedContinuation { continuation in
                waiters.withLock { $0.add(continuation, id) }
                handle { $0.finish(id, at: MonotonicClock.now()) }
                if Task.isCancelled { cancelFinish(id) }
            }
        } onCancel: {
            cancelFinish(id)
        }
    }

    private func cancelFinish(_ id: UInt64) {
        handle { $0.cancelFinish(id) }
        let error = TransportError(.cancelled, "waiting for the frames was cancelled")
        waiters.withLock { $0.take(id) }?.resume(returning: .failure(error))
    }

    // MARK: Effects

    /// Lets the machine decide, and does what follows.
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
        if effects.startsTurn { queue.async { self.takeTurn() } }
        if effects.setsTimer { setTimer() }
        if let id = effects.refusesPreferencesOf { connection.refusePreferences(of: id) }
        for id in effects.finished {
            waiters.withLock { $0.take(id) }?.resume(returning: .success(()))
        }
    }

    /// Encodes a frame; runs on the queue.
    private func takeTurn() {
        guard var job = handle({ $0.beginTurn(at: MonotonicClock.now()) }) else { return }
        let result = job.encode(with: encoder, digester)
        handle { $0.encoded(result, at: MonotonicClock.now()) }
    }

    private func submit(_ message: FrameMessage) {
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
