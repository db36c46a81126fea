internal import FrameWire
internal import Locking

/// The part of a connection that any thread may use: its ``SendLaneMachine``, and the socket while it is open.
///
/// The caller's own thread writes; only what the socket did not accept at once is left for the I/O thread.
final class SendLane: Sendable {
    typealias Completion = SendLaneMachine.Completion
    typealias Progress = SendLaneMachine.Progress

    fileprivate struct State: ~Copyable {
        var machine: SendLaneMachine
        var socket: OwnedDescriptor?
    }

    private let state: Locked<State>
    private let tickets = Counter()

    init(padsShortBodies: Bool, offersAudio: Bool, info: ControlRequest.SessionInfo) {
        let machine = SendLaneMachine(padsShortBodies: padsShortBodies, offersAudio: offersAudio, info: info)
        state = Locked(State(machine: machine))
    }

    /// Whether messages are accepted.
    var isOpen: Bool { state.withLock { $0.machine.isAccepting } }

    /// What the receiver has said, and the number of audio messages that were not sent to any so far.
    var receiver: (SendLaneMachine.Receiver, droppedAudio: Int) {
        state.withLock { ($0.machine.receiver, $0.machine.droppedAudio) }
    }

    /// Whether audio is accepted for a receiver that wants it.
    var offersAudio: Bool { state.withLock { $0.machine.offersAudio } }

    /// How far the server has what was sent over a connection.
    struct Delivery {
        /// The number of the connection.
        let connection: Int

        /// Whether everything that was accepted has been written.
        let isWritten: Bool

        /// Whether a whole frame, or audio, has been written.
        let hasSent: Bool

        /// The bytes of the messages that have been written whole.
        let bytesWritten: Int

        /// The bytes that the server has not read yet; nil if the system does not report it.
        let backlog: SendBacklog?
    }

    /// How far the server has what was sent; nil without a socket.
    var delivery: Delivery? {
        state.withLock { state in
            guard let socket = state.socket?.rawValue else { return nil }
            return Delivery(
                connection: state.machine.connection,
                isWritten: state.machine.progress.isWritten,
                hasSent: state.machine.hasSent,
                bytesWritten: state.machine.bytesWritten,
                backlog: Syscalls.backlog(of: socket)
            )
        }
    }

    /// How many bytes wait for the server in the socket; nil without one, or if the system does not report it.
    var untakenByteCount: Int? {
        state.withLock { state in
            guard let socket = state.socket?.rawValue else { return nil }
            return Syscalls.untakenByteCount(of: socket)
        }
    }

    /// The progress of the lane.
    var progress: Progress { state.withLock { $0.machine.progress } }

    // MARK: From any thread

    /// Returns a ticket, with which a frame can be cancelled.
    func makeTicket() -> Int { tickets.next() }

    /// Accepts a frame, and writes what the socket accepts.
    ///
    /// - Parameters:
    ///   - message: The frame.
    ///   - connection: The number of the connection that it was made for; nil for any.
    ///   - ticket: Its ticket; 0 if it will not be cancelled.
    ///   - completion: Called once with its outcome, outside the lane's lock.
    /// - Returns: The progress of the lane.
    /// - Throws: If the frame was not accepted; `completion` is not called.
    func send(
        _ message: FrameMessage,
        for connection: Int? = nil,
        ticket: Int = 0,
        completion: @escaping Completion
    ) throws(TransportError) -> Progress {
        try advance { machine throws(TransportError) in
            try machine.submit(message, for: connection, ticket: ticket, completion: completion)
            return nil
        }
    }

    /// Accepts audio, and writes what the socket accepts.
    func send(_ block: AudioBlock) throws(TransportError) -> Progress {
        try advance { machine throws(TransportError) in
            try machine.submit(block)
            return nil
        }
    }

    /// Changes the frame rate of the source, which is asked for within the lock, so that the latest one counts.
    func stateFrameRate(_ rate: () -> Int?) {
        state.withLock { $0.machine.frameRate = rate() }
    }

    /// Changes whether audio is accepted.
    func setOffersAudio(_ offersAudio: Bool) -> Progress {
        advance { machine in
            machine.setOffersAudio(offersAudio)
            return nil
        }
    }

    /// Stops waiting for a frame, which is withdrawn unless it has been started.
    func cancel(_ ticket: Int) {
        state.withLock { $0.machine.cancel(ticket) }?.tell()
    }

    // MARK: From the I/O thread

    /// Starts using a connected socket.
    func open(_ socket: consuming OwnedDescriptor, connection: Int) {
        // The system doubles the requested size to cover its own overhead, and the buffer must hold two messages.
        let fittingByteCount = Syscalls.sendBuffer(of: socket.rawValue) / 4
        var socket: OwnedDescriptor? = consume socket
        state.withLock { state in
            state.socket = socket.take()
            state.machine.open(connection: connection, fittingByteCount: fittingByteCount)
        }
    }

    /// Closes the socket; the frame that is queued or in progress fails with `error`.
    func close(_ error: TransportError) {
        let settlement = state.withLock { state in
            state.socket = nil
            return state.machine.close(error)
        }
        settlement?.tell()
    }

    // MARK: Writing

    /// Changes what there is to send, then writes what the socket accepts.
    func advance<Failure: Error>(
        _ change: (inout SendLaneMachine) throws(Failure) -> SendLaneMachine.Settlement?
    ) throws(Failure) -> Progress {
        // A frame is accepted only after the previous one is written, so a change and its writes settle at most one.
        var settlement: SendLaneMachine.Settlement?
        let progress = try state.withLock { state throws(Failure) -> Progress in
            settlement = try change(&state.machine)
            if let written = state.write() { settlement = written }
            return state.machine.progress
        }
        // After the lock is released: whoever is told may use the lane.
        settlement?.tell()
        return progress
    }
}

extension SendLane.State {
    /// Writes until nothing is left or the socket is full.
    fileprivate mutating func write() -> SendLaneMachine.Settlement? {
        guard let socket = socket?.rawValue else { return nil }
        var settlement: SendLaneMachine.Settlement?
        while let write = machine.nextWrite() {
            if let bytes = write.sendBuffer { Syscalls.setSendBuffer(of: socket, bytes: bytes) }
            do throws(Errno) {
                switch try write.send(to: socket) {
                case .bytes(let count, _): if let settled = machine.didWrite(count) { settlement = settled }
                case .wouldBlock: machine.wouldBlock()
                }
            } catch {
                settlement = machine.writeFailed(error)
            }
        }
        return settlement
    }
}

extension SendLaneMachine.Write {
    /// Writes what the socket accepts.
    fileprivate func send(to socket: Int32) throws(Errno) -> Transfer {
        // A message that passes a descriptor has no body.
        if let passed { return try unsafe Syscalls.send(to: socket, runs.header, passing: passed.rawDescriptor) }
        return try unsafe Syscalls.send(to: socket, runs.header, runs.body, runs.padding)
    }
}
