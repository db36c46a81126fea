internal import FrameWire
internal import Locking

/// The part of a connection that any thread may use: the socket while it is open, and what goes out over it.
///
/// One frame may be under way or next; sound and statuses queue up, and go before the next frame, so that they never wait
/// for more than the message under way. The caller's own thread writes; only what the socket did not take at once is left
/// for the I/O thread.
final class SendLane: Sendable {
    typealias Completion = @Sendable (Result<Void, TransportError>) -> Void

    /// How far the lane got.
    enum Progress {
        /// The system has all there was.
        case sent
        /// The socket is full; the I/O thread goes on when it has room.
        case waiting
        /// The connection broke.
        case broken(Errno)
    }

    /// How much sound and how many statuses wait at most.
    fileprivate static let queueCapacity = 64

    fileprivate struct State: ~Copyable {
        var socket: OwnedDescriptor?
        var isAccepting = false
        /// How a write to the socket in use has failed.
        var failure: Errno?
        /// What the receiver wants; of one that said nothing, as every plain one, pictures.
        var wants = ControlWants.pictures
        /// Whether the receiver wants nothing for now.
        var isPaused = false
        var writer = MessageWriter()
        /// Of the frame that is being written.
        var completion: Completion?
        var nextFrame: (message: FrameMessage, completion: Completion)?
        var queue: [OutgoingMessage] = []
        var droppedAudio = 0
        /// Bytes written, over all messages: it grows while the peer reads.
        var bytesWritten = 0
        /// How long a message may be before the socket's buffer is made larger.
        var fittingByteCount = 0
        let padsShortBodies: Bool
    }

    private let state: Locked<State>

    init(padsShortBodies: Bool) {
        state = Locked(State(padsShortBodies: padsShortBodies))
    }

    /// Whether messages are taken.
    var isOpen: Bool { state.withLock { $0.isAccepting } }

    /// How a write to the socket in use has failed.
    var failure: Errno? { state.withLock { $0.failure } }

    /// What the receiver wants.
    var wants: ControlWants { state.withLock { $0.wants } }

    /// Whether the receiver wants nothing for now.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// How many messages of sound were not sent.
    var droppedAudio: Int { state.withLock { $0.droppedAudio } }

    /// While something is under way, a number that grows as the peer takes it; nil where nothing is.
    var bytesUnderWay: Int? {
        state.withLock { $0.writer.isWriting ? $0.bytesWritten + $0.writer.progress : nil }
    }

    /// Takes a connected socket into use.
    func open(_ socket: consuming OwnedDescriptor) {
        // The system doubles what it is asked for, to cover its own overhead, and a buffer is to hold two messages.
        let fittingByteCount = Syscalls.sendBuffer(of: socket.rawValue) / 4
        var socket: OwnedDescriptor? = consume socket
        state.withLock { state in
            state.fittingByteCount = fittingByteCount
            state.socket = socket.take()
            state.wants = .pictures
            state.isPaused = false
            state.isAccepting = true
        }
    }

    /// Notes what the receiver has said that it wants.
    func setWants(_ wants: ControlWants) {
        withhold { $0.wants = wants }
    }

    /// Notes whether the receiver wants nothing for now.
    func setPaused(_ isPaused: Bool) {
        withhold { $0.isPaused = isPaused }
    }

    /// Changes what is wanted, and takes back what is not and has not begun: an answer that follows so comes behind the
    /// last of it.
    private func withhold(_ change: (inout State) -> Void) {
        let frame = state.withLock { state -> (completion: Completion, error: TransportError)? in
            change(&state)
            let sound = state.queue.count(where: \.isAudio)
            if sound > 0, state.objection(to: .audio) != nil {
                state.queue.removeAll(where: \.isAudio)
                state.droppedAudio += sound
            }
            guard state.nextFrame != nil, let error = state.objection(to: .pictures) else { return nil }
            return state.nextFrame.take().map { ($0.completion, error) }
        }
        // Behind the lock: what is called may send the next message.
        if let (completion, error) = frame { completion(.failure(error)) }
    }

    /// Takes no more messages; true where none is under way or waits.
    func stopAccepting() -> Bool {
        state.withLock { state in
            state.isAccepting = false
            return !state.writer.isWriting
        }
    }

    /// Takes the socket out of use; frames under way or waiting fail with `error`.
    func close(_ error: TransportError) {
        let completions = state.withLock { state -> [Completion] in
            state.socket = nil
            state.failure = nil
            state.isAccepting = false
            state.writer.abandon()
            state.queue = []
            return [state.completion.take(), state.nextFrame.take()?.completion].compactMap(\.self)
        }
        for completion in completions { completion(.failure(error)) }
    }

    /// Takes up a frame and writes what the socket takes.
    func send(_ message: FrameMessage, completion: @escaping Completion) throws(TransportError) -> Progress {
        try advance { state throws(TransportError) in
            guard state.isAccepting else { throw TransportError(.closed, "no server is connected") }
            if let error = state.objection(to: .pictures) { throw error }
            guard state.completion == nil, state.nextFrame == nil else {
                throw TransportError(.busy, "an earlier message is still being sent")
            }
            state.nextFrame = (message, completion)
        }
    }

    /// Takes up sound or a status; nil where it is not taken.
    func send(_ message: OutgoingMessage) -> Progress? {
        try? advance { state throws(TransportError) in
            guard state.isAccepting else { throw TransportError(.closed, "no server is connected") }
            try state.enqueue(message)
        }
    }

    /// Goes on, now that the socket has room.
    func resume() -> Progress {
        advance { _ in }
    }

    /// Changes what there is to send, and then writes what the socket takes.
    private func advance<Failure: Error>(_ change: (inout State) throws(Failure) -> Void) throws(Failure) -> Progress {
        // One at the most: a frame is taken only when the one before is out.
        var settled: (completion: Completion, result: Result<Void, TransportError>)?
        let progress = try state.withLock { state throws(Failure) -> Progress in
            try change(&state)
            return state.write { settled = ($0, $1) }
        }
        // Behind the lock: what is called may send the next message.
        if let (completion, result) = settled { completion(result) }
        return progress
    }
}

extension SendLane.State {
    /// Why nothing of a kind is to be sent at present; nil where it may.
    fileprivate func objection(to kind: ControlWants) -> TransportError? {
        if isPaused { return TransportError(.paused, "the receiver has asked for a pause") }
        return wants.contains(kind) ? nil : TransportError(.notWanted, "the receiver did not ask for this")
    }

    fileprivate mutating func enqueue(_ message: OutgoingMessage) throws(TransportError) {
        if message.isAudio, let error = objection(to: .audio) {
            droppedAudio += 1
            throw error
        }
        queue.append(message)
        guard queue.count > SendLane.queueCapacity else { return }
        if let oldest = queue.firstIndex(where: \.isAudio) {
            queue.remove(at: oldest)
            droppedAudio += 1
        } else {
            // A receiver that asks and asks and does not read the answers.
            queue.removeLast()
        }
    }

    /// Writes until nothing is left or the socket is full.
    ///
    /// - Parameter settle: called for each frame that is out, and for the one under way where the connection breaks.
    /// - Returns: how far it got.
    fileprivate mutating func write(
        _ settle: (@escaping SendLane.Completion, Result<Void, TransportError>) -> Void
    ) -> SendLane.Progress {
        guard failure == nil, let socket = socket?.rawValue else { return .waiting }
        while writer.isWriting || beginNext(socket) {
            do throws(Errno) {
                let count = writer.messageByteCount
                guard try writer.write(to: socket) else { return .waiting }
                bytesWritten += count
                if let completion = completion.take() { settle(completion, .success(())) }
            } catch {
                writer.abandon()
                isAccepting = false
                failure = error
                if let completion = completion.take() { settle(completion, .failure(.lost(error))) }
                return .broken(error)
            }
        }
        return .sent
    }

    /// Takes up the next message: sound and statuses before a frame.
    private mutating func beginNext(_ socket: Int32) -> Bool {
        if !queue.isEmpty {
            writer.begin(queue.removeFirst(), padsShortBodies: padsShortBodies)
        } else if let next = nextFrame.take() {
            completion = next.completion
            writer.begin(.frame(next.message), padsShortBodies: padsShortBodies)
        } else {
            return false
        }
        makeBufferFit(socket)
        return true
    }

    /// A buffer of twice a message lets one be written while another is read, and makes one call of most writes.
    ///
    /// Much more would only let old frames queue up.
    private mutating func makeBufferFit(_ socket: Int32) {
        guard writer.messageByteCount > fittingByteCount else { return }
        fittingByteCount = writer.messageByteCount
        Syscalls.setSendBuffer(of: socket, bytes: 2 * fittingByteCount)
    }
}
