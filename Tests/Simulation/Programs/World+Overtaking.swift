internal import FrameSocket
internal import FrameTransport
internal import FrameWire

extension SimThread {
    /// Work that is submitted to a thread.
    enum Task {
        // A sender's.
        case open
        case openWithin(Int)
        case abandonOpening(Int)
        case close(ControlRequest.FinishReason?)
        case laneProgressed
        case continueTurn
        // A server's.
        case start
        case drain
        case accept
        // What its connections report on another thread.
        case started(Int)
        case tokenShown(Int)
        case ended(Int, wasReady: Bool)
        // A received connection's.
        case send(ControlRequest)
        case begin
        case giveWay
        case resume
        case takenByProgram
        case roomAvailable
        case memoryAvailable
        case undecodable
        case consume
        case bufferReleased(Int)
    }
}

/// A time that a program waits for.
enum ProgramTimer {
    case nextOffer(run: Int)
    case cancelOpening(Int)
    case openingIsDue(Int)
    case turn
    case encoded
    /// The program's thread has written a frame, or failed to, and says so only now.
    case settled(SendLaneMachine.Settlement)
    /// It submits a frame that the uploader has decided to send.
    case submission
    case cancelWait(Int)
    case finishIsDue(Int)
    /// A consumer has been woken, or is done with a frame.
    case consumer
    case audioConsumer
    case statusConsumer
    case connectionConsumer
    case departureIsDue
    case lingerIsOver
    /// A receiver's program releases an image that it has kept.
    case releaseKept

    /// Whether the program may do this sooner without breaking a rule of its own.
    var mayComeEarlier: Bool {
        switch self {
        case .nextOffer, .turn, .encoded, .settled, .submission: true
        case .consumer, .audioConsumer, .statusConsumer, .releaseKept: true
        default: false
        }
    }
}

/// Whose time it is.
enum ProgramOwner {
    case sender(Int)
    case server(Int)
    case receiver(Int)
}

extension World {
    func schedule(_ timer: ProgramTimer, of sender: SimSender, after delay: UInt64) {
        if timer.mayComeEarlier { sender.pending.append(timers.count) }
        schedule(timer, .sender(sender.index), after: delay)
    }

    /// Runs something that a sender's program does soon anyway, now: the connection's thread is interrupted between two
    /// steps, and the program's threads go on.
    func overtake(_ sender: SimSender) {
        guard !sender.pending.isEmpty, hasFollowedRequests(sender), sender.racing.chance(15) else { return }
        let index = sender.pending[sender.racing.below(sender.pending.count)]
        coverage.count(.programOvertakes)
        note("  the program is faster than the connection's thread:")
        stepProgram(index)
    }

    /// The same for a received connection: its consumers run between two calls of its machine.
    func overtake(_ receiver: SimReceiver) {
        guard !receiver.pending.isEmpty, !receiver.consumesOnThread, receiver.racing.chance(5) else { return }
        let index = receiver.pending[receiver.racing.below(receiver.pending.count)]
        coverage.count(.consumerOvertakes)
        note("  a consumer is faster than the connection's thread:")
        stepProgram(index)
    }

    /// Whether the lane has heard of all that the sender has read: the monitor knows that, and not what comes between.
    private func hasFollowedRequests(_ sender: SimSender) -> Bool {
        guard sender.socket >= 0, sockets[sender.socket].monitor >= 0 else { return true }
        let monitor = monitors[sockets[sender.socket].monitor]
        let hasDeclined = !monitor.shared.isAccepted && sender.terms.acceptsSharedMemory
        let receiver = sender.lane.receiver
        return monitor.wants == receiver.wants && monitor.isPauseAsked == receiver.isPaused
            && monitor.stopRead == nil && (!hasDeclined || receiver.declinesSharedMemory)
    }

    func schedule(_ timer: ProgramTimer, _ owner: ProgramOwner, after delay: UInt64) {
        if case .receiver(let receiver) = owner, timer.mayComeEarlier {
            receivers[receiver].pending.append(timers.count)
        }
        events.schedule(.program, timers.count, at: now &+ delay)
        timers.append((timer, owner, hasRun: false))
    }

    func stepProgram(_ index: Int) {
        let (timer, owner, hasRun) = timers[index]
        guard !hasRun else { return }
        timers[index].hasRun = true
        switch owner {
        case .sender(let sender):
            if timer.mayComeEarlier { senders[sender].pending.removeAll { $0 == index } }
            step(timer, of: senders[sender])
        case .server(let index): step(timer, of: servers[index])
        case .receiver(let receiver):
            if timer.mayComeEarlier { receivers[receiver].pending.removeAll { $0 == index } }
            step(timer, of: receivers[receiver])
        }
    }

    // MARK: Calls of the I/O threads

    func run(_ task: SimThread.Task, of owner: Owner) {
        switch owner {
        case .sender(let index):
            let sender = senders[index]
            switch task {
            case .open:
                sender.isWanted = true
                change(sender) { $0.open(sender) }
            case .openWithin(let id): openWithin(id, of: sender)
            case .abandonOpening(let id):
                guard let waiter = sender.waiters.first(where: { $0.id == id }) else { break }
                change(sender) { $0.abandon(waiter.opening, sender) }
            case .close(let reason):
                schedule(.lingerIsOver, of: sender, after: 1_300_000_000)
                change(sender) { $0.close(reason ?? .stoppedByUser, sender) }
            case .laneProgressed:
                let progress = sender.lane.progress
                change(sender) { $0.laneChanged(to: progress, sender) }
            case .continueTurn: change(sender) { $0.continueTurn(sender) }
            default: break
            }
        case .server(let index): run(task, of: servers[index])
        case .receiver(let index): run(task, of: receivers[index])
        case .uploader: break
        }
    }

    func becameReady(_ readiness: Readiness, _ owner: Owner) {
        switch owner {
        case .sender(let index):
            change(senders[index]) {
                $0.becameReady(
                    readable: !readiness.isDisjoint(with: [.readable, .hangup]),
                    writable: readiness.contains(.writable),
                    senders[index]
                )
            }
        case .uploader: break
        case .server(let index): change(servers[index]) { $0.becameReady() }
        case .receiver(let index): change(receivers[index]) { $0.becameReady(readiness, receivers[index]) }
        }
    }

    func deadlinePassed(_ owner: Owner) {
        switch owner {
        case .sender(let index): change(senders[index]) { $0.deadlinePassed(senders[index]) }
        case .uploader(let index): uploadDeadlinePassed(index)
        case .server(let index): change(servers[index]) { [server = servers[index]] in $0.deadlinePassed(server) }
        case .receiver(let index): change(receivers[index]) { $0.deadlinePassed(receivers[index]) }
        }
    }
}
