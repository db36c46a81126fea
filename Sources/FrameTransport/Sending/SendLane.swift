internal import FrameWire
internal import Locking

/// The part of a connection that any thread may use: its ``SendLaneMachine``, and the socket while it is open.
///
/// The caller's own thread writes; only what the socket did not accept at once is left for the I/O thread.
final class SendLane: Sendable {
    typealias Completion = @Sendable (Result<Void, TransportError>) -> Void
    typealias Progress = SendLaneMachine.Progress

    fileprivate struct State: ~Copyable {
        var machine: SendLaneMachine
        var socket: OwnedDescriptor?
        /// The recipient of the settlement of the queued or current frame.
        var completion: Completion?
    }

    /// The call to make after the lock is released, because it may use the lane.
    fileprivate struct Settled {
        let completion: Completion
        let settlement: SendLaneMachine.Settlement

        func call() {
            if let error = settlement.error { completion(.failure(error)) } else { completion(.success(())) }
        }
    }

    private let state: Locked<State>
    private let tickets = Counter()

    init(padsShortBodies: Bool, offersAudio: Bool, info: ControlRequest.SessionInfo) {
        let machine = SendLaneMachine(padsShortBodies: padsShortBodies, offersAudio: offersAudio, info: info)
        state = Locked(State(machine: machine))
    }

    /// Whether messages are accepted.
    var isOpen: Bool { state.withLock { $0.machine.isAccepting } }

    /// What the receiver wants, and whether it has requested a pause.
    var demand: (wants: ControlRequest.Wants, isPaused: Bool) {
        state.withLock { ($0.machine.wants, $0.machine.isPaused) }
    }

    /// Whether audio is accepted for a receiver that wants it.
    var offersAudio: Bool { state.withLock { $0.machine.offersAudio } }

    /// The number of audio messages that were not sent.
    var droppedAudio: Int { state.withLock { $0.machine.droppedAudio } }

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
    ///   - ticket: Its ticket; nil if it will not be cancelled.
    ///   - completion: Called once with its outcome, outside the lane's lock.
    /// - Returns: The progress of the lane.
    /// - Throws: If the frame was not accepted; `completion` is not called.
    func send(
        _ message: FrameMessage,
        for connection: Int? = nil,
        ticket: Int? = nil,
        completion: @escaping Completion
    ) throws(TransportError) -> Progress {
        let ticket = ticket ?? makeTicket()
        return try advance { state throws(TransportError) in
            try state.machine.submit(message, for: connection, ticket: ticket)
            state.completion = completion
            return nil
        }
    }

    /// Accepts audio, and writes what the socket accepts.
    func send(_ block: AudioBlock) throws(TransportError) -> Progress {
        try advance { state throws(TransportError) in
            try state.machine.submit(block)
            return nil
        }
    }

    /// Changes the frame rate of the source, which is asked for within the lock, so that the latest one counts.
    func stateFrameRate(_ rate: () -> Int?) {
        state.withLock { $0.machine.frameRate = rate() }
    }

    /// Changes whether audio is accepted.
    func setOffersAudio(_ offersAudio: Bool) -> Progress {
        advance { state in
            state.machine.setOffersAudio(offersAudio)
            return nil
        }
    }

    /// Stops waiting for a frame, which is withdrawn unless it has been started.
    func cancel(_ ticket: Int) {
        change { $0.machine.cancel(ticket) }
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
        change { state in
            state.socket = nil
            return state.machine.close(error)
        }
    }

    // MARK: Writing

    /// Changes what there is to send, then writes what the socket accepts.
    private func advance<Failure: Error>(
        _ change: (inout State) throws(Failure) -> SendLaneMachine.Settlement?
    ) throws(Failure) -> Progress {
        // A frame is accepted only after the previous one is written, so a change and its writes settle at most one.
        var settled: Settled?
        let progress = try state.withLock { state throws(Failure) -> Progress in
            let settlement = try change(&state)
            settled = state.take(settlement)
            state.write { settled = $0 }
            return state.machine.progress
        }
        settled?.call()
        return progress
    }

    /// The same for a change of the machine alone.
    func advance(_ change: (inout SendLaneMachine) -> SendLaneMachine.Settlement?) -> Progress {
        advance { (state: inout State) in change(&state.machine) }
    }

    private func change(_ change: (inout State) -> SendLaneMachine.Settlement?) {
        let settled = state.withLock { state in
            let settlement = change(&state)
            return state.take(settlement)
        }
        settled?.call()
    }
}

extension SendLane.State {
    fileprivate mutating func take(_ settlement: SendLaneMachine.Settlement?) -> SendLane.Settled? {
        guard let settlement, let completion = completion.take() else { return nil }
        return SendLane.Settled(completion: completion, settlement: settlement)
    }

    /// Writes until nothing is left or the socket is full.
    fileprivate mutating func write(_ settle: (SendLane.Settled) -> Void) {
        guard let socket = socket?.rawValue else { return }
        while let write = machine.nextWrite() {
            if let bytes = write.sendBuffer { Syscalls.setSendBuffer(of: socket, bytes: bytes) }
            let settlement: SendLaneMachine.Settlement?
            do throws(Errno) {
                switch try write.send(to: socket) {
                case .bytes(let count, _): settlement = machine.didWrite(count)
                case .wouldBlock:
                    machine.wouldBlock()
                    settlement = nil
                }
            } catch {
                settlement = machine.writeFailed(error)
            }
            if let settled = take(settlement) { settle(settled) }
        }
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
