internal import Locking

/// The part of a connection that any thread may use: the socket while it is open, and the one message under way.
///
/// The caller's own thread writes; only what the socket did not take at once is left for the I/O thread.
final class SendLane: Sendable {
    typealias Completion = @Sendable (Result<Void, TransportError>) -> Void

    /// How far a message got.
    enum Progress {
        /// The system has all of it.
        case sent
        /// The socket is full; the I/O thread goes on when it has room.
        case waiting
        /// The connection broke.
        case broken(Errno)
    }

    fileprivate struct State: ~Copyable {
        var socket: OwnedDescriptor?
        var writer = MessageWriter()
        var completion: Completion?
        var isAccepting = false
        var failure: Errno?
        /// How long a message may be before the socket's buffer is made larger.
        var fittingByteCount = 0
    }

    private let state = Locked(State())
    private let padsShortBodies: Bool

    init(padsShortBodies: Bool) {
        self.padsShortBodies = padsShortBodies
    }

    /// Whether a message may be sent, unless one is under way.
    var isOpen: Bool { state.withLock { $0.isAccepting } }

    /// How a write to the socket in use has failed.
    var failure: Errno? { state.withLock { $0.failure } }

    /// Whether a message is under way, and how many of its bytes are out.
    var bytesUnderWay: Int? {
        state.withLock { $0.writer.isWriting ? $0.writer.progress : nil }
    }

    /// Takes a connected socket into use.
    func open(_ socket: consuming OwnedDescriptor) {
        // The system doubles what it is asked for, to cover its own overhead, and a buffer is to hold two messages.
        let fittingByteCount = Syscalls.sendBuffer(of: socket.rawValue) / 4
        var socket: OwnedDescriptor? = consume socket
        state.withLock { state in
            state.fittingByteCount = fittingByteCount
            state.socket = socket.take()
            state.isAccepting = true
        }
    }

    /// Takes no more messages; true where none is under way.
    func stopAccepting() -> Bool {
        state.withLock { state in
            state.isAccepting = false
            return !state.writer.isWriting
        }
    }

    /// Takes the socket out of use; a message under way fails with `error`.
    func close(_ error: TransportError) {
        let completion = state.withLock { state in
            state.socket = nil
            state.failure = nil
            state.isAccepting = false
            state.writer.abandon()
            return state.completion.take()
        }
        completion?(.failure(error))
    }

    /// Takes up a message and writes what the socket takes.
    func send(_ message: FrameMessage, completion: @escaping Completion) throws(TransportError) -> Progress {
        let progress = try state.withLock { state throws(TransportError) in
            guard state.isAccepting, let socket = state.socket?.rawValue else {
                throw TransportError(.closed, "no server is connected")
            }
            guard !state.writer.isWriting else {
                throw TransportError(.busy, "an earlier message is still being sent")
            }
            state.writer.begin(message, isPadded: padsShortBodies)
            state.makeBufferFit(socket)
            let progress = state.write()
            if case .waiting = progress { state.completion = completion }
            return progress
        }
        switch progress {
        case .sent: completion(.success(()))
        case .broken(let error): completion(.failure(.lost(error)))
        case .waiting: break
        }
        return progress
    }

    /// Goes on with the message under way, now that the socket has room.
    func resume() -> Progress {
        let (progress, completion) = state.withLock { state -> (Progress, Completion?) in
            let progress = state.write()
            if case .waiting = progress { return (progress, nil) }
            return (progress, state.completion.take())
        }
        switch progress {
        case .sent: completion?(.success(()))
        case .broken(let error): completion?(.failure(.lost(error)))
        case .waiting: break
        }
        return progress
    }
}

extension SendLane.State {
    /// A buffer of twice a message lets one be written while another is read, and makes one call of most writes.
    /// Much more would only let old frames queue up.
    fileprivate mutating func makeBufferFit(_ socket: Int32) {
        guard writer.messageByteCount > fittingByteCount else { return }
        fittingByteCount = writer.messageByteCount
        Syscalls.setSendBuffer(of: socket, bytes: 2 * fittingByteCount)
    }

    fileprivate mutating func write() -> SendLane.Progress {
        guard let socket = socket?.rawValue else { return .waiting }
        do {
            return try writer.write(to: socket) ? .sent : .waiting
        } catch {
            writer.abandon()
            isAccepting = false
            failure = error
            return .broken(error)
        }
    }
}
