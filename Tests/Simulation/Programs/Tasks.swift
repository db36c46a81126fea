internal import FrameSocket
internal import FrameTransport
internal import FrameWire

extension SimThread {
    /// Work that is submitted to a thread.
    enum Task {
        // A sender's.
        case open
        case openWithin(Int, UInt64)
        case abandonOpening(Int)
        case close(FinishReason?)
        case laneProgressed
        case continueTurn
        case refusePreferences(Int)
        // A server's.
        case start
        case drain
        case accept
        case taken(Int)
        // A received connection's.
        case send(ControlRequest)
        case resume
        case roomAvailable
        case granted
        case undecodable
        case consume
        case runAgain
        case bufferReleased(Int)
        case sharedMemoryRevoked
    }
}

/// A time that a program waits for.
enum ProgramTimer {
    case nextOffer(run: Int)
    case cancelOpening(Int)
    case openingIsDue(Int)
    case turn
    case encoded
    case admit
    case cancelWait(Int)
    case finishIsDue(Int)
    /// A consumer has been woken, or is done with a frame.
    case consumer
    case audioConsumer
    case statusConsumer
    case connectionConsumer
    case reader(Int)
    case departureIsDue
    case lingerIsOver
    /// A receiver's program releases an image that it has kept.
    case releaseKept
    /// An uploader's queue hears that nothing refers to an image in a buffer any longer.
    case leaseEnded(SharedPool.Lease)
    /// A program draws the next image.
    case draw(SharedPool.Lease, isNew: Bool, BufferSize)
}

/// Whose time it is.
enum ProgramOwner {
    case sender(Int)
    case server(Int)
    case receiver(Int)
}

extension World {
    func schedule(_ timer: ProgramTimer, of sender: SimSender, after delay: UInt64) {
        schedule(timer, .sender(sender.index), after: delay)
    }

    func schedule(_ timer: ProgramTimer, _ owner: ProgramOwner, after delay: UInt64) {
        events.schedule(.program, timers.count, at: now &+ delay)
        timers.append((timer, owner))
    }

    func stepProgram(_ index: Int) {
        let (timer, owner) = timers[index]
        switch owner {
        case .sender(let index): step(timer, of: senders[index])
        case .server(let index): step(timer, of: servers[index])
        case .receiver(let index): step(timer, of: receivers[index])
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
                change(sender) { $0.open(at: now) }
            case .openWithin(let id, let limit):
                let deadline = sender.waiters.first { $0.id == id }?.deadline
                change(sender) {
                    $0.open(waiter: id, limit: .nanoseconds(Int64(clamping: limit)), deadline: deadline, at: now)
                }
            case .abandonOpening(let id):
                change(sender) { $0.abandon(waiter: id, at: now) }
                checkWanted(sender)
            case .close(let reason):
                schedule(.lingerIsOver, of: sender, after: 1_300_000_000)
                change(sender) { $0.close(reason ?? .stoppedByUser, at: now) }
            case .laneProgressed:
                let progress = sender.lane.progress
                change(sender) { $0.laneProgressed(progress, at: now) }
            case .continueTurn: change(sender) { $0.continueTurn(at: now) }
            case .refusePreferences(let connection):
                change(sender) { $0.preferencesRefused(byUserOf: connection, at: now) }
            default: break
            }
        case .server(let index): run(task, of: servers[index])
        case .receiver(let index): run(task, of: receivers[index])
        case .uploader: break
        }
    }

    func becameReady(_ readiness: SocketReadiness, _ owner: Owner) {
        switch owner {
        case .sender(let index):
            change(senders[index]) {
                $0.becameReady(
                    readable: !readiness.isDisjoint(with: [.readable, .hangup]),
                    writable: readiness.contains(.writable),
                    at: now
                )
            }
        case .uploader: break
        case .server(let index): change(servers[index]) { $0.becameReady() }
        case .receiver(let index):
            var flags: Readiness = []
            if readiness.contains(.readable) { flags.insert(.readable) }
            if readiness.contains(.writable) { flags.insert(.writable) }
            if readiness.contains(.hangup) { flags.insert(.hangup) }
            change(receivers[index]) { $0.becameReady(flags, at: now) }
        }
    }

    func deadlinePassed(_ owner: Owner) {
        switch owner {
        case .sender(let index): change(senders[index]) { $0.deadlinePassed(at: now) }
        case .uploader(let index): uploadDeadlinePassed(index)
        case .server(let index): change(servers[index]) { $0.deadlinePassed() }
        case .receiver(let index): change(receivers[index]) { $0.deadlinePassed(at: now) }
        }
    }
}
