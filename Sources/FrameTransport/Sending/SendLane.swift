internal import FrameWire
internal import Locking

/// The part of a connection that any thread may use: its ``SendLaneMachine``, and the socket while it is open.
///
/// The caller's own thread writes; only what the socket did not accept at once is left for the I/O thread.
final class SendLane: Sendable {
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

    // MARK: From any thread

    /// Returns a ticket, with which a frame can be cancelled.
    func makeTicket() -> Int { tickets.next() }

    /// Looks at the machine, or makes a change after which there is nothing more to write.
    func withMachine<Result>(_ body: (inout SendLaneMachine) -> Result) -> Result {
        state.withLock { body(&$0.machine) }
    }

    /// Changes what there is to send, then writes what the socket accepts.
    ///
    /// - Parameter change: The change; the settlement that it returns is told outside the lane's lock.
    /// - Returns: The progress of the lane.
    /// - Throws: What the change throws; nothing is written then.
    func advance<Failure: Error>(
        _ change: (inout SendLaneMachine) throws(Failure) -> SendLaneMachine.Settlement?
    ) throws(Failure) -> Progress {
        // A frame is accepted only after the previous one is written, so a change and its writes settle at most one.
        var settlement: SendLaneMachine.Settlement?
        let progress = try state.withLock { state throws(Failure) -> Progress in
            settlement = try change(&state.machine)
            state.write(&settlement)
            return state.machine.progress
        }
        settlement?.tell()
        return progress
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
}

extension SendLane.State {
    /// Writes until nothing is left or the socket is full.
    fileprivate mutating func write(_ settlement: inout SendLaneMachine.Settlement?) {
        guard let socket = socket?.rawValue else { return }
        while let write = machine.nextWrite() {
            if let bytes = write.sendBuffer { Syscalls.setSendBuffer(of: socket, bytes: bytes) }
            let settled: SendLaneMachine.Settlement?
            do throws(Errno) {
                switch try write.send(to: socket) {
                case .bytes(let count, _): settled = machine.didWrite(count)
                case .wouldBlock:
                    machine.wouldBlock()
                    settled = nil
                }
            } catch {
                settled = machine.writeFailed(error)
            }
            if let settled { settlement = settled }
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
