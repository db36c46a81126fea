internal import FrameTransport

/// Whom an I/O thread calls.
protocol Owner: AnyObject {
    /// The thread that calls it.
    var thread: Int { get }

    func becameReady(_ readiness: Readiness)
    func deadlinePassed()
}

/// An I/O thread: what was submitted to it, which sockets have changed, which deadlines run.
///
/// As `IOThread` does, a turn polls the sockets, runs the work that was submitted before it, then the reports, then what
/// these have submitted, in two batches at most, and then the deadlines.
struct SimThread {
    /// Work that was submitted to the thread.
    typealias Work = (owner: any Owner, body: () -> Void)

    struct Registration {
        let owner: any Owner
        /// -1 for deadlines alone.
        let socket: Int
        var deadline: UInt64?
        /// The last deadline that has passed.
        var passed: UInt64 = 0
        /// The time of its entry among the deadlines.
        var scheduled: UInt64?
        var isCancelled = false
    }

    enum Phase {
        case asleep
        case tasks(Int)
        case reports(Int)
        case deadlines
    }

    var phase = Phase.asleep
    var inbox: [Work] = []
    /// Work that waits for the next poll.
    var later: [Work] = []
    var running: [Work] = []
    /// How many batches of work this turn has begun after the reports.
    var batches = 0
    var changed: [Int] = []
    var reports: [(registration: Int, readiness: Readiness)] = []
    var registrations: [Registration] = []
    /// The event that the thread waits for; `nil` if none is scheduled.
    var wakesAt: UInt64?
    var deadlines = DeadlineQueue()
    var horizon = PollHorizon()
    /// How many registrations there are.
    var liveRegistrations = 0
    /// Whether it is sometimes busy elsewhere for long, and until when it last was.
    let isHeldUp: Bool
    var heldUpUntil: UInt64 = 0

    init(isHeldUp: Bool) {
        self.isHeldUp = isHeldUp
    }

    mutating func beginTurn() {
        batches = 0
        inbox += later
        later.removeAll()
        beginBatch()
    }

    mutating func beginBatch() {
        swap(&inbox, &running)
        inbox.removeAll()
        phase = .tasks(0)
    }

    mutating func schedule(_ deadline: UInt64, of registration: Int) {
        if let scheduled = registrations[registration].scheduled, scheduled <= deadline { return }
        registrations[registration].scheduled = deadline
        deadlines.set(deadline, token: UInt64(registration))
    }

    /// Takes out a registration whose deadline has passed.
    mutating func takeDeadline(upTo now: UInt64) -> Int? {
        // Bounded, so that a queue with more than one deadline of each is found instead of searched forever.
        for _ in registrations.indices {
            guard let token = deadlines.popFirst(upTo: now) else { return nil }
            let registration = Int(token)
            registrations[registration].scheduled = nil
            guard let deadline = registrations[registration].deadline else { continue }
            if deadline <= now {
                registrations[registration].deadline = nil
                registrations[registration].passed = deadline
                return registration
            }
            schedule(deadline, of: registration)
        }
        return nil
    }

    var isAsleep: Bool { if case .asleep = phase { true } else { false } }
}

/// What the threads do.
extension World {
    /// The most reports that one call of the poller returns.
    ///
    /// Fewer than those of `IOThread`, so that it often leaves some for the next call.
    private static let reportsPerTurn = 8

    func register(_ owner: any Owner, socket: Int) -> Int {
        let thread = owner.thread
        let registration = threads[thread].registrations.count
        threads[thread].registrations.append(SimThread.Registration(owner: owner, socket: socket))
        threads[thread].liveRegistrations += 1
        if socket >= 0 { watch(socket, for: .thread(thread, registration: registration)) }
        return registration
    }

    func cancel(_ registration: Int, on thread: Int) {
        guard !threads[thread].registrations[registration].isCancelled else { return }
        threads[thread].registrations[registration].isCancelled = true
        threads[thread].registrations[registration].deadline = nil
        threads[thread].deadlines.remove(UInt64(registration))
        threads[thread].liveRegistrations -= 1
        let socket = threads[thread].registrations[registration].socket
        if socket >= 0 { unwatch(socket) }
    }

    /// Sets or clears a deadline; one that moves later leaves its entry among the deadlines, as `IOThread` does.
    func setDeadline(_ deadline: UInt64?, of registration: Int, on thread: Int) {
        guard !threads[thread].registrations[registration].isCancelled else { return }
        threads[thread].registrations[registration].deadline = deadline
        guard let deadline else { return }
        threads[thread].schedule(deadline, of: registration)
        let (entries, live) = (threads[thread].deadlines.count, threads[thread].liveRegistrations)
        check(.oneDeadlineEach, entries <= live, "\(entries) deadlines of \(live) registrations")
        if threads[thread].isAsleep { sleep(thread, until: deadline) }
    }

    /// Submits work to somebody's thread, from whichever thread.
    func execute(for owner: any Owner, _ body: @escaping () -> Void) {
        threads[owner.thread].inbox.append((owner, body))
        wake(owner.thread)
    }

    /// Submits work for the time after the next poll.
    func executeAfterPoll(for owner: any Owner, _ body: @escaping () -> Void) {
        threads[owner.thread].later.append((owner, body))
        wake(owner.thread)
    }

    /// Makes a sleeping thread begin a turn.
    func wake(_ thread: Int) {
        guard threads[thread].isAsleep else { return }
        sleep(thread, until: now + random.time(in: 500...10_000))
    }

    private func sleep(_ thread: Int, until time: UInt64) {
        let time = max(time, now)
        if let next = threads[thread].wakesAt, next <= time { return }
        threads[thread].wakesAt = time
        events.schedule(at: time) { [self] in stepThread(thread) }
    }

    /// A thread does its next piece of work; `time` is that of the event.
    func stepThread(_ thread: Int) {
        // An earlier event took this one's place.
        guard threads[thread].wakesAt == now else { return }
        threads[thread].wakesAt = nil
        if threads[thread].isAsleep { beginTurn(thread) }
        while true {
            switch threads[thread].phase {
            case .asleep:
                return
            case .tasks(let index) where index < threads[thread].running.count:
                threads[thread].phase = .tasks(index + 1)
                let work = threads[thread].running[index]
                call(work.owner, work.body)
                return goOn(thread)
            case .tasks where threads[thread].batches == 0:
                threads[thread].phase = .reports(0)
            case .tasks:
                beginBatch(thread)
            case .reports(let index) where index < threads[thread].reports.count:
                threads[thread].phase = .reports(index + 1)
                let report = threads[thread].reports[index]
                let registration = threads[thread].registrations[report.registration]
                guard !registration.isCancelled else { continue }
                call(registration.owner) { registration.owner.becameReady(report.readiness) }
                return goOn(thread)
            case .reports:
                beginBatch(thread)
            case .deadlines:
                if let registration = threads[thread].takeDeadline(upTo: threads[thread].horizon.time) {
                    let owner = threads[thread].registrations[registration].owner
                    call(owner) { owner.deadlinePassed() }
                    return goOn(thread)
                }
                endTurn(thread)
            }
        }
    }

    private func goOn(_ thread: Int) {
        let isHeldUp = threads[thread].isHeldUp && random.below(100) == 0
        let time = now + random.time(in: isHeldUp ? 1_000_000...250_000_000 : 200...8_000)
        threads[thread].wakesAt = time
        if isHeldUp { threads[thread].heldUpUntil = time }
        events.schedule(at: time) { [self] in stepThread(thread) }
    }

    private func beginTurn(_ thread: Int) {
        poll(thread)
        threads[thread].beginTurn()
    }

    /// Begins a further batch of work after the reports, or goes on to the deadlines.
    private func beginBatch(_ thread: Int) {
        guard threads[thread].batches < 2 else { return threads[thread].phase = .deadlines }
        threads[thread].batches += 1
        threads[thread].beginBatch()
    }

    private func poll(_ thread: Int) {
        threads[thread].reports.removeAll()
        var taken = 0
        while threads[thread].reports.count < Self.reportsPerTurn, taken < threads[thread].changed.count {
            let socket = threads[thread].changed[taken]
            taken += 1
            sockets[socket].isReported = false
            guard sockets[socket].isOpen, case .thread(thread, let registration) = sockets[socket].watcher else {
                continue
            }
            let readiness = readiness(of: socket)
            if !readiness.isEmpty { threads[thread].reports.append((registration, readiness)) }
        }
        threads[thread].changed.removeFirst(taken)
        // What is no longer watched, or ready, is not returned, and takes no place of what is.
        let count = threads[thread].reports.count
        let live = threads[thread].liveRegistrations
        threads[thread].horizon.polled(at: now, count: count, capacity: Self.reportsPerTurn, limit: live)
    }

    private func endTurn(_ thread: Int) {
        let hasWork = !threads[thread].inbox.isEmpty || !threads[thread].later.isEmpty
        if hasWork || !threads[thread].changed.isEmpty { return beginTurn(thread) }
        threads[thread].phase = .asleep
        let wait = threads[thread].deadlines.milliseconds(from: now)
        if wait >= 0 { sleep(thread, until: now + UInt64(wait) * 1_000_000) }
    }

    /// Calls a handler, and checks that it did not take more than its turn.
    private func call(_ owner: any Owner, _ body: () -> Void) {
        turn = TurnCount()
        let receiver = owner as? SimReceiver
        if let receiver { turn.messages = -receiver.machine.messages }
        body()
        if let receiver { turn.messages += receiver.machine.messages }
        checkTurn(of: owner)
    }
}
