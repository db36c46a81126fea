internal import FrameWire
internal import Locking

/// The shell of a connection's ``SenderMachine``: reports events to it, and is the system that it calls.
///
/// - Note: `@unchecked Sendable` holds because mutable state is accessed only on `thread`, except for what is safe on
///   any thread: the lane, mailboxes, latches and boards. Other threads reach the rest through
///   ``IOThread/execute(_:)``.
final class ConnectingDriver: IOHandler, @unchecked Sendable {
    let thread: IOThread
    let lane: SendLane
    let closed = Latch<CloseReason>()

    /// The number of the connection that has ended last, and why it has; nil before one has.
    let lastEnd = Locked<(connection: Int, reason: CloseReason, leftUnread: Bool)?>(nil)

    /// The number of the latest connection whose server has discarded something; nil if none has.
    let discarding = Locked<Int?>(nil)

    /// Who listened when the last connection was made, if the system tells.
    let peer = Locked<PeerPolicy.Credentials?>(nil)

    /// Whether the server had not read everything when the last socket was closed, as far as the system reports it.
    var leftUnread = false

    /// The receiver's requests.
    let control = ControlState()

    /// The receiver's terms.
    let terms = ObservedValue(ReceiverTerms())

    /// The published states of the connection.
    let states = ObservedValue(SocketConnection.State.idle, capacity: 16)

    /// The current demand: only the latest counts.
    let demand: ObservedValue<ControlRequest.Wants>

    /// What the receiver states about itself.
    let info = ObservedValue(ControlRequest.SessionInfo(), capacity: 16)

    let endpoint: SocketEndpoint
    let configuration: SocketConnection.Configuration
    var machine: SenderMachine

    /// The socket in use; nil between two attempts.
    var socket: Int32?
    /// Owns the socket until it is handed to the lane.
    var descriptor: OwnedDescriptor?
    var registration: IORegistration?
    var timer: IORegistration?
    var openings: [Int: Opening] = [:]

    let log: EventLog?

    init(_ endpoint: SocketEndpoint, configuration: SocketConnection.Configuration) {
        self.endpoint = endpoint
        self.configuration = configuration
        thread = configuration.thread
        log = EventLog(configuration.log)
        demand = ObservedValue(terms.value.demand)
        lane = SendLane(
            padsShortBodies: configuration.padsShortBodies,
            offersAudio: configuration.offersAudio,
            info: configuration.info
        )
        machine = SenderMachine(SenderMachine.Settings(endpoint, configuration))
    }

    // MARK: Requests from programs

    func open() {
        change { $0.open(self) }
    }

    func open(for opening: Opening) {
        openings[opening.id] = opening
        change { $0.open(waiter: opening.id, limit: opening.limit, deadline: opening.deadline, self) }
    }

    func abandon(_ opening: Opening) {
        change { $0.abandon(waiter: opening.id, self) }
    }

    func close(_ reason: ControlRequest.FinishReason) {
        change { $0.close(reason, self) }
    }

    /// Handles a caller's own write that was incomplete, or failed.
    func laneChanged() {
        // The current progress: the report may be about a socket that has been replaced since.
        let progress = lane.progress
        change { $0.laneChanged(to: progress, self) }
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        change {
            $0.becameReady(
                readable: !readiness.isDisjoint(with: [.readable, .hangup]),
                writable: readiness.contains(.writable),
                self
            )
        }
    }

    func deadlinePassed() {
        change { $0.deadlinePassed(self) }
    }

    // MARK: Running the machine

    /// Reports an event, on the connection's thread.
    ///
    /// Not from within a call of the machine, which changes until it returns.
    func change(_ report: (inout SenderMachine) -> Void) {
        report(&machine)
        registration?.watchesRoom = machine.watchesRoom
        let deadline = machine.deadline
        if timer == nil, deadline != nil { timer = thread.registerTimer(self) }
        if timer?.deadline != deadline { timer?.deadline = deadline }
    }
}

extension SenderMachine.Settings {
    fileprivate init(_ endpoint: SocketEndpoint, _ configuration: SocketConnection.Configuration) {
        self.init(name: endpoint.description)
        retryInterval = configuration.retryInterval.nanoseconds
        connectTimeout = configuration.connectTimeout.nanoseconds
        handshakeTimeout = configuration.handshakeTimeout.nanoseconds
        if case .path = endpoint { sharesMemory = SharedMemory.isSupported }
        sendTimeout = configuration.sendTimeout.nanoseconds
        linger = configuration.linger.nanoseconds
        reopens = configuration.reopens
        tokens = configuration.tokens
    }
}
