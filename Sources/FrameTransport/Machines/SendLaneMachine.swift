package import FrameWire

/// Decides what a sender writes to its connection, and in which order.
///
/// At most one frame is queued or in progress. An answer to the receiver precedes audio, and audio precedes the frame,
/// so that neither waits for more than the message in progress. The `stopped` status that ends a session is the last
/// message.
///
/// The machine encodes messages and returns the bytes as runs of memory; its driver writes them to a socket, using
/// ``nextWrite()``, ``didWrite(_:)``, ``wouldBlock()`` and ``writeFailed(_:)``, until there is no next write.
package struct SendLaneMachine: ~Copyable {
    /// The maximum number of waiting audio messages; another one replaces the oldest.
    package static let audioCapacity = 64

    private enum Phase {
        /// No socket is open.
        case closed
        /// Messages are accepted.
        case accepting
        /// Nothing more is accepted; waiting messages are still written, followed by the last status.
        case ending(last: SenderStatus?)
        /// A write has failed.
        case broken(Errno)
    }

    private enum FrameSlot {
        case empty
        case waiting(FrameMessage, Submission)
        /// The submission is nil if the frame's sender no longer waits for it.
        case inProgress(Submission?)
    }

    /// The origin of the message that the writer has encoded: it stays there until its first byte is written.
    private enum Origin {
        case answer
        case audio
        case info
        case frame
        case last
    }

    private var phase = Phase.closed
    private var frame = FrameSlot.empty
    private var audio: [AudioBlock] = []
    /// The status owed to the receiver; a later one replaces it.
    private var answer: SenderStatus?
    /// What the program states about this side, over all connections.
    private let info: ControlRequest.SessionInfo
    /// Whether the receiver has been told, or is not to be told any more.
    private var hasStatedInfo = false
    /// The size of the latest frame that was encoded for this connection.
    private var latestSize: BufferSize?
    private var writer = MessageWriter()
    /// Set until the first byte of a message is written; until then the message can be withdrawn.
    private var origin: Origin?
    /// Whether the socket was full at the last write.
    private var isBlocked = false
    /// The number of bytes of completed messages, and how many of them earlier connections had.
    private var bytesOut = 0
    private var bytesOutBefore = 0
    /// The length up to which a message fits without enlarging the socket's buffer.
    private var fittingByteCount = 0
    private let padsShortBodies: Bool

    /// What the receiver has said of what it takes.
    package private(set) var receiver = Receiver()

    /// The uploader whose shared buffers the receiver has.
    private var sharer: UInt64?

    /// The number of the connection, which is also ``ReceiverTerms/connection``.
    package private(set) var connection = 0

    /// Whether a whole frame, or audio, was written to this connection.
    package private(set) var hasSent = false

    /// The number of bytes of the messages that were written whole to this connection.
    package var bytesWritten: Int { bytesOut - bytesOutBefore }

    /// The number of audio messages that were not sent.
    package private(set) var droppedAudio = 0

    /// The frame rate of the source in millihertz, stated unless the program states one.
    package var frameRate: Int?

    /// Whether audio is accepted for a receiver that wants it.
    package private(set) var offersAudio: Bool

    package init(padsShortBodies: Bool, offersAudio: Bool = true, info: ControlRequest.SessionInfo = .init()) {
        (self.padsShortBodies, self.offersAudio, self.info) = (padsShortBodies, offersAudio, info)
    }

    // MARK: State

    /// Whether messages are accepted.
    package var isAccepting: Bool { if case .accepting = phase { true } else { false } }

    /// The progress of the lane.
    ///
    /// Inlined, like everything else that is asked for every frame: a call would copy the whole machine.
    @inline(__always)
    package var progress: Progress {
        switch phase {
        case .broken(let error): .broken(error)
        case .accepting, .ending: hasUnsent ? .waiting(bytesWritten: bytesOut + writer.progress) : allSent
        case .closed: .sent
        }
    }

    private var allSent: Progress { if case .ending = phase { .ended } else { .sent } }

    private var hasUnsent: Bool { writer.isWriting || queueCount > 0 }

    /// The number of messages that have not been started.
    package var queueCount: Int {
        var count = audio.count
        if answer != nil { count += 1 }
        if isInfoDue { count += 1 }
        if case .waiting = frame { count += 1 }
        if case .ending(.some) = phase { count += 1 }
        return count
    }

    /// Whether a frame is queued or in progress, so that another would be refused as `busy`.
    package var hasFrame: Bool { if case .empty = frame { false } else { true } }

    // MARK: The connection

    /// Begins a connection.
    ///
    /// - Parameters:
    ///   - connection: Its number.
    ///   - fittingByteCount: The length up to which a message fits without enlarging the socket's buffer.
    package mutating func open(connection: Int, fittingByteCount: Int) {
        phase = .accepting
        (self.connection, self.fittingByteCount) = (connection, fittingByteCount)
        (hasSent, bytesOutBefore, hasStatedInfo) = (false, bytesOut, false)
    }

    /// Ends the connection cleanly: accepts nothing more, and writes `last` after everything else.
    ///
    /// - Parameters:
    ///   - last: The `stopped` status; nil for a receiver that sent no hello.
    ///   - error: If set, messages that have not been started are withdrawn, and the waiting frame fails with this
    ///     error. The message in progress is always completed.
    /// - Returns: The settlement of the waiting frame.
    package mutating func end(last: SenderStatus?, withdrawing error: TransportError?) -> Settlement? {
        guard case .accepting = phase else { return nil }
        phase = .ending(last: last)
        // Regardless of earlier results: only another write shows that a peer has gone completely.
        isBlocked = false
        guard let error else { return nil }
        answer = nil
        hasStatedInfo = true
        dropAudio()
        return withdrawFrame(error)
    }

    /// Discards the connection; a frame that is waiting or in progress fails with `error`.
    package mutating func close(_ error: TransportError) -> Settlement? {
        phase = .closed
        isBlocked = false
        // What the receiver has said ends with it.
        receiver = Receiver()
        (answer, latestSize, sharer) = (nil, nil, nil)
        dropAudio()
        writer.abandon()
        origin = nil
        return failFrame(error)
    }

    // MARK: Submitting

    /// Accepts a frame.
    ///
    /// - Parameters:
    ///   - message: The frame.
    ///   - connection: The number of the connection that it was made for, which may have ended meanwhile; nil for any.
    ///   - ticket: The frame's number in its settlement, with which it can be cancelled; 0 for none.
    ///   - completion: For whoever settles the frame.
    /// - Throws: `closed`, `paused`, `notWanted` or `busy`; `sharedMemory` if the receiver has buffers of another uploader.
    package mutating func submit(
        _ message: FrameMessage,
        for connection: Int? = nil,
        ticket: Int,
        completion: @escaping Completion = { _ in }
    ) throws(TransportError) {
        if let connection, connection != self.connection { throw Self.ended }
        guard isAccepting else { throw Self.unconnected }
        if let error = objection(to: message) { throw error }
        if let owner = message.shared?.owner, let sharer, sharer != owner { throw Self.sharedByAnother }
        guard case .empty = frame else { throw TransportError(.busy, "an earlier message is still being sent") }
        if let owner = message.shared?.owner { sharer = owner }
        unblockIfIdle()
        frame = .waiting(message, Submission(ticket: ticket, completion: completion))
    }

    /// Accepts audio, and drops the oldest waiting message if there are too many.
    ///
    /// - Throws: `closed`, `paused` or `notWanted`, also if this side offers no audio.
    package mutating func submit(_ block: AudioBlock) throws(TransportError) {
        guard isAccepting else { throw Self.unconnected }
        if let error = objection(to: .audio) {
            droppedAudio += 1
            throw error
        }
        unblockIfIdle()
        audio.append(block)
        guard audio.count > Self.audioCapacity else { return }
        audio.removeFirst()
        droppedAudio += 1
    }

    /// Records whether this side offers audio, over all connections; if not, withdraws what has not been started.
    package mutating func setOffersAudio(_ offersAudio: Bool) {
        guard offersAudio != self.offersAudio else { return }
        self.offersAudio = offersAudio
        if !offersAudio { dropAudio() }
    }

    /// Withdraws a frame that has not been started; one in progress is completed, but nobody waits for it any longer.
    package mutating func cancel(_ ticket: Int) -> Settlement? {
        let error = TransportError(.cancelled, "sending was cancelled")
        switch frame {
        case .waiting(_, let submission) where submission.ticket == ticket: return withdrawFrame(error)
        case .inProgress(let submission?) where submission.ticket == ticket:
            frame = .inProgress(nil)
            return Settlement(submission, error)
        case .empty, .waiting, .inProgress: return nil
        }
    }

    // MARK: Requests from the receiver

    /// Records what the receiver takes, withdraws what it does not take and has not been started, and answers.
    ///
    /// The answer to a pause therefore follows the last message before the pause. If the receiver wants this side's info, that
    /// follows the answer, once on the connection.
    package mutating func follow(_ receiver: Receiver, answering status: SenderStatus?) -> Settlement? {
        self.receiver = receiver
        if let status { send(status) }
        if objection(to: .audio) != nil { dropAudio() }
        guard case .waiting(let message, _) = frame else { return nil }
        return objection(to: message).flatMap { withdrawFrame($0) }
    }

    /// Sends the receiver the sender's status.
    ///
    /// An answer that has not been started is replaced by a later one, which keeps its pong unless it has its own.
    package mutating func send(_ status: SenderStatus) {
        guard isAccepting else { return }
        unblockIfIdle()
        var status = status
        status.pong = status.pong ?? answer?.pong
        answer = status
    }

    // MARK: Writing

    /// Returns the bytes to write next, starting the next message if none is in progress; nil if there is nothing to
    /// write, or the socket is full.
    package mutating func nextWrite() -> Write? {
        switch phase {
        case .closed, .broken: return nil
        case .accepting, .ending: break
        }
        if isBlocked { return nil }
        if writer.isWriting { return unsafe Write(writer.runs, passing: writer.passed, sendBuffer: nil) }
        guard encodeNext() else { return nil }
        return unsafe Write(writer.runs, passing: writer.passed, sendBuffer: makeBufferFit())
    }

    /// Records that the socket has accepted `count` bytes of the write; fewer than all of them mean that it is full.
    package mutating func didWrite(_ count: Int) -> Settlement? {
        let byteCount = writer.messageByteCount
        if count > 0 { begin() }
        guard writer.advance(by: count) else {
            isBlocked = true
            return nil
        }
        bytesOut += byteCount
        guard case .inProgress(let submission) = frame else { return nil }
        frame = .empty
        hasSent = true
        return submission.map { Settlement($0, nil) }
    }

    /// Records that the socket is full.
    package mutating func wouldBlock() {
        isBlocked = true
        // Not started: the receiver's next request may still hold it back, or its answer may precede it.
        if origin.take() != nil { writer.abandon() }
    }

    /// Records that the socket may have room again.
    package mutating func hasRoom() {
        isBlocked = false
    }

    /// Records that a write has failed: nothing more is written or accepted on this connection.
    package mutating func writeFailed(_ error: Errno) -> Settlement? {
        writer.abandon()
        origin = nil
        phase = .broken(error)
        return failFrame(.lost(error))
    }
}

// MARK: - Decisions

extension SendLaneMachine {
    /// The reason that messages of a kind are not accepted now; nil if they are.
    @inline(__always)
    private func objection(to kind: ControlRequest.Wants) -> TransportError? {
        if kind == .audio, !offersAudio { return Self.silent }
        if receiver.isPaused { return TransportError(.paused, "the receiver has paused the sender") }
        return receiver.wants.contains(kind) ? nil : TransportError(.notWanted, "the receiver did not ask for this")
    }

    @inline(__always)
    private func objection(to message: FrameMessage) -> TransportError? {
        objection(to: .frames) ?? (receiver.declinesSharedMemory && message.shared != nil ? Self.declined : nil)
    }

    private mutating func dropAudio() {
        droppedAudio += audio.count
        audio.removeAll(keepingCapacity: true)
    }

    private mutating func withdrawFrame(_ error: TransportError) -> Settlement? {
        guard case .waiting(_, let submission) = frame else { return nil }
        frame = .empty
        return Settlement(submission, error)
    }

    private mutating func failFrame(_ error: TransportError) -> Settlement? {
        guard case .inProgress(let submission) = frame else { return withdrawFrame(error) }
        frame = .empty
        return submission.map { Settlement($0, error) }
    }

    /// Encodes the next message, which stays in its queue until its first byte is written.
    private mutating func encodeNext() -> Bool {
        if let answer {
            origin = .answer
            writer.begin(answer)
        } else if let first = audio.first {
            origin = .audio
            writer.begin(first)
        } else if isInfoDue {
            origin = .info
            writer.begin(statement)
        } else if case .waiting(let message, _) = frame {
            origin = .frame
            writer.begin(message, padsShortBodies: padsShortBodies)
            latestSize = message.info.bufferSize
        } else if case .ending(let last?) = phase {
            origin = .last
            writer.begin(last)
        } else {
            return false
        }
        return true
    }

    /// Whether the info is to be written now: while the receiver waits for frames, it waits for the first, whose size it
    /// states.
    @inline(__always)
    private var isInfoDue: Bool {
        guard receiver.hello?.wantsInfo == true, !hasStatedInfo else { return false }
        if case .waiting = frame { return true }
        return latestSize != nil || !isAccepting || objection(to: .frames) != nil
    }

    /// What this side states about itself.
    private var statement: ControlRequest.SessionInfo {
        var info = info
        info.size = latestSize ?? info.size
        if case .waiting(let message, _) = frame { info.size = message.info.bufferSize }
        info.frameRateInMillihertz = info.frameRateInMillihertz ?? frameRate
        if !offersAudio { info.offersAudio = false }
        return info
    }

    /// Handles the first written byte of the encoded message.
    private mutating func begin() {
        switch origin.take() {
        case nil: break
        case .answer: answer = nil
        case .audio:
            audio.removeFirst()
            hasSent = true
        case .info: hasStatedInfo = true
        case .frame: if case .waiting(_, let submission) = frame { frame = .inProgress(submission) }
        case .last: phase = .ending(last: nil)
        }
    }

    /// Retries a full socket if nothing waits for room, because then room may not be watched.
    private mutating func unblockIfIdle() {
        if isBlocked, !hasUnsent { isBlocked = false }
    }

    /// Enlarges the buffer to two messages: one is written while another is read, and most writes take one call.
    ///
    /// A much larger buffer would only queue old frames.
    private mutating func makeBufferFit() -> Int? {
        guard writer.messageByteCount > fittingByteCount else { return nil }
        fittingByteCount = writer.messageByteCount
        return 2 * fittingByteCount
    }
}
