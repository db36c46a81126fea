internal import FrameWire
internal import Locking

/// The part of a connection that any thread may use: its ``SendLaneMachine``, and the socket while it is open.
///
/// The caller's own thread writes; only what the socket did not take at once is left for the I/O thread.
final class SendLane: Sendable {
    typealias Completion = @Sendable (Result<Void, TransportError>) -> Void
    typealias Progress = SendLaneMachine.Progress

    fileprivate struct State: ~Copyable {
        var machine: SendLaneMachine
        var socket: OwnedDescriptor?
        /// Whom the settlement of the one frame that is next or under way is for; nil if that is not known yet.
        var completion: Completion?
        /// Settlements that their senders have not asked for yet.
        var unclaimed: [SendLaneMachine.Settlement] = []
    }

    /// What is called once the lock is released: it may use the lane.
    fileprivate struct Settled {
        let completion: Completion
        let settlement: SendLaneMachine.Settlement

        func call() {
            if let error = settlement.error { completion(.failure(error)) } else { completion(.success(())) }
        }
    }

    private let state: Locked<State>
    private let tickets = Counter()

    init(padsShortBodies: Bool) {
        state = Locked(State(machine: SendLaneMachine(padsShortBodies: padsShortBodies)))
    }

    /// Whether messages are accepted.
    var isOpen: Bool { state.withLock { $0.machine.isAccepting } }

    /// What the receiver wants.
    var wants: ControlWants { state.withLock { $0.machine.wants } }

    /// Whether the receiver wants nothing for now.
    var isPaused: Bool { state.withLock { $0.machine.isPaused } }

    /// How many audio messages were not sent.
    var droppedAudio: Int { state.withLock { $0.machine.droppedAudio } }

    /// What the server has not read yet; nil without a socket, or if the system does not tell.
    var backlog: SendBacklog? {
        state.withLock { state in
            guard let socket = state.socket?.rawValue else { return nil }
            return Syscalls.backlog(of: socket)
        }
    }

    /// How far the lane got.
    var progress: Progress { state.withLock { $0.machine.progress } }

    // MARK: From any thread

    /// Makes a ticket, by which a frame can be cancelled and its settlement claimed.
    func makeTicket() -> Int { tickets.next() }

    /// Accepts a frame, and writes what the socket takes.
    func send(_ message: FrameMessage, completion: @escaping Completion) throws(TransportError) -> Progress {
        let ticket = makeTicket()
        return try advance { state throws(TransportError) in
            try state.machine.submit(message, ticket: ticket)
            state.completion = completion
            return nil
        }
    }

    /// Accepts a frame, and writes what the socket takes.
    ///
    /// The caller claims the settlement afterwards, by ``claim(_:)`` or ``claim(_:completion:)``.
    func send(_ message: FrameMessage, ticket: Int) throws(TransportError) -> Progress {
        try advance { state throws(TransportError) in
            try state.machine.submit(message, ticket: ticket)
            return nil
        }
    }

    /// Returns the settlement of a frame if it is there; most frames are out when they have been accepted.
    func claim(_ ticket: Int) -> SendLaneMachine.Settlement? {
        state.withLock { $0.claim(ticket) }
    }

    /// Calls `completion` with the settlement of a frame, at once or when it is there.
    func claim(_ ticket: Int, completion: @escaping Completion) {
        let settlement = state.withLock { state -> SendLaneMachine.Settlement? in
            if let settlement = state.claim(ticket) { return settlement }
            state.completion = completion
            return nil
        }
        if let settlement { Settled(completion: completion, settlement: settlement).call() }
    }

    /// Accepts audio, and writes what the socket takes.
    func send(_ message: AudioMessage) throws(TransportError) -> Progress {
        try advance { state throws(TransportError) in
            try state.machine.submit(message)
            return nil
        }
    }

    /// Lets nobody wait any longer for a frame, which is withdrawn unless it has begun.
    func cancel(_ ticket: Int) {
        change { $0.machine.cancel(ticket) }
    }

    // MARK: From the I/O thread

    /// Takes a connected socket into use.
    func open(_ socket: consuming OwnedDescriptor) {
        // The system doubles what it is asked for, to cover its own overhead, and a buffer is to hold two messages.
        let fittingByteCount = Syscalls.sendBuffer(of: socket.rawValue) / 4
        var socket: OwnedDescriptor? = consume socket
        state.withLock { state in
            state.socket = socket.take()
            state.machine.open(fittingByteCount: fittingByteCount)
        }
    }

    /// Closes the socket; the frame that is next or under way fails with `error`.
    func close(_ error: TransportError) {
        change { state in
            state.socket = nil
            return state.machine.close(error)
        }
    }

    /// Does what a connection's machine orders, and writes what the socket takes.
    func execute(_ order: SenderMachine.LaneOrder) -> Progress {
        advance { state in
            switch order {
            case .setWants(let wants, let status): return state.machine.setWants(wants, answering: status)
            case .setPaused(let isPaused, let status): return state.machine.setPaused(isPaused, answering: status)
            case .end(let last, let error): return state.machine.end(last: last, withdrawing: error)
            case .answer(let status): state.machine.send(status)
            case .resume: state.machine.hasRoom()
            case .open, .report: break
            }
            return nil
        }
    }

    // MARK: Writing

    /// Changes what there is to send, then writes what the socket takes.
    private func advance<Failure: Error>(
        _ change: (inout State) throws(Failure) -> SendLaneMachine.Settlement?
    ) throws(Failure) -> Progress {
        // A frame is accepted only when the one before is out, so a change and the writes after it settle at most one.
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
        guard let settlement else { return nil }
        guard let completion = completion.take() else {
            unclaimed.append(settlement)
            return nil
        }
        return SendLane.Settled(completion: completion, settlement: settlement)
    }

    fileprivate mutating func claim(_ ticket: Int) -> SendLaneMachine.Settlement? {
        guard let index = unclaimed.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        return unclaimed.remove(at: index)
    }

    /// Writes until nothing is left or the socket is full.
    fileprivate mutating func write(_ settle: (SendLane.Settled) -> Void) {
        guard let socket = socket?.rawValue else { return }
        while let write = machine.nextWrite() {
            if let bytes = write.sendBuffer { Syscalls.setSendBuffer(of: socket, bytes: bytes) }
            let settlement: SendLaneMachine.Settlement?
            do throws(Errno) {
                switch try unsafe Syscalls.send(to: socket, write.runs.head, write.runs.body, write.runs.padding) {
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
