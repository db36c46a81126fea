internal import FrameWire

/// The shell of a connection's ``SenderMachine``: reports events to it, and executes its commands.
///
/// - Note: `@unchecked Sendable` holds because mutable state is accessed only on `thread`, except for what is safe on
///   any thread: the lane, mailboxes, latches and boards. Other threads reach the rest through
///   ``IOThread/execute(_:)``.
final class ConnectingDriver: IOHandler, @unchecked Sendable {
    let thread: IOThread
    let lane: SendLane
    let closed = Latch<CloseReason>()

    /// The receiver's requests.
    let control = ControlState()

    /// The receiver's terms.
    let terms = TermsBoard()

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
    /// The reason for which the last attempt failed; nil after one that did not.
    var lastFailure: String?

    init(_ endpoint: SocketEndpoint, configuration: SocketConnection.Configuration) {
        self.endpoint = endpoint
        self.configuration = configuration
        thread = configuration.thread
        log = EventLog(configuration.log)
        demand = ObservedValue(terms.terms.demand, capacity: 1)
        lane = SendLane(
            padsShortBodies: configuration.padsShortBodies,
            offersAudio: configuration.offersAudio,
            info: configuration.info
        )
        machine = SenderMachine(SenderMachine.Settings(endpoint, configuration))
    }

    // MARK: Requests from programs

    func open() {
        report { $0.open(at: $1) }
    }

    func open(for opening: Opening) {
        openings[opening.id] = opening
        report { $0.open(waiter: opening.id, limit: opening.limit, deadline: opening.deadline, at: $1) }
    }

    func abandon(_ opening: Opening) {
        report { $0.abandon(waiter: opening.id, at: $1) }
    }

    func close(_ reason: ControlRequest.FinishReason) {
        report { $0.close(reason, at: $1) }
    }

    /// Reports that the source of the frames cannot follow the preference of a connection's receiver.
    func refusePreferences(of connection: Int) {
        report { $0.preferencesRefused(byUserOf: connection, at: $1) }
    }

    /// Handles a caller's own write that was incomplete, or failed.
    func laneChanged() {
        // The current progress: the report may be about a socket that has been replaced since.
        let progress = lane.progress
        report { $0.laneProgressed(progress, at: $1) }
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        report {
            $0.becameReady(
                readable: !readiness.isDisjoint(with: [.readable, .hangup]),
                writable: readiness.contains(.writable),
                at: $1
            )
        }
    }

    func deadlinePassed() {
        report { $0.deadlinePassed(at: $1) }
    }

    // MARK: Running the machine

    func report(_ event: (inout SenderMachine, UInt64) -> Void) {
        event(&machine, MonotonicClock.now())
        while let command = machine.nextCommand() { execute(command) }
    }

    /// Reports the result of a command; the loop that executes the command also executes what follows from it.
    func answer(_ event: (inout SenderMachine, UInt64) -> Void) {
        event(&machine, MonotonicClock.now())
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
        minimumVersion = configuration.minimumVersion
        tokens = configuration.tokens
    }
}
