internal import CFrameTransport
internal import Dispatch
internal import Locking

/// The readiness of a descriptor.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: UInt32(FRAME_READABLE))
    package static let writable = Readiness(rawValue: UInt32(FRAME_WRITABLE))
    /// The peer has closed or shut down; read what it sent to the end.
    package static let hangup = Readiness(rawValue: UInt32(FRAME_HANGUP))
}

/// A handler that an ``IOThread`` calls, always on that thread.
protocol IOHandler: AnyObject {
    /// Called when the descriptor has become ready.
    ///
    /// Reported once per change: continue until the call would block.
    func becameReady(_ readiness: Readiness)

    /// Called when the registration's deadline has passed.
    func deadlinePassed()
}

/// A thread that waits on sockets and reads them, and an executor for consumers.
///
/// By default one thread serves every connection of a process. A consumer that runs on it receives every frame without
/// a thread switch, which takes iOS 18, macOS 15 or visionOS 2, or Linux:
///
/// ```swift
/// Task(executorPreference: connection.thread) {
///     for try await frame in connection.frames { record(frame) }
/// }
/// ```
///
/// Work on this thread delays every connection that it serves: decode there only if you intend that.
///
/// Thread safety: any thread may use it at any time.
public final class IOThread: Sendable {
    /// The default thread, started at its first use.
    public static let shared = IOThread()

    private let loop: IOLoop
    private let thread: Result<SystemThread, Errno>

    /// Runs the work of threads that could not be started, so that whatever waits for it learns of the failure.
    private static let standIn = DispatchQueue(label: "framesocket.io.failed")

    /// Creates and starts a thread, which ends when its last reference is released.
    ///
    /// If the system cannot provide the thread or its descriptor, the servers and connections that use the thread report
    /// the failure.
    public init() {
        let loop = IOLoop()
        self.loop = loop
        thread = Result { () throws(Errno) in
            if let failure = loop.failure { throw failure }
            return try SystemThread(named: "framesocket.io") { loop.run() }
        }
    }

    deinit {
        loop.stop()
    }

    /// Whether the caller is running on this thread.
    package var isCurrent: Bool {
        if case .success(let thread) = thread { thread.isCurrent } else { false }
    }

    /// Whether about as many handlers wait for their turns as one poll can report; to be asked on this thread.
    var isCrowded: Bool { loop.isCrowded }

    /// - Throws: `system` if the thread could not be started.
    func checkRunning() throws(TransportError) {
        if case .failure(let error) = thread {
            throw TransportError(.system, underlyingErrno: error.rawValue, "the I/O thread could not be started")
        }
    }

    /// Runs a task's job on this thread, after earlier submissions.
    func execute(_ job: TaskJob) {
        submit(.job(job))
    }

    /// Runs `work` on this thread, after earlier submissions.
    func execute(_ work: @escaping @Sendable () -> Void) {
        submit(.work(work))
    }

    /// Runs `work` on this thread once the sockets have been polled again, so that others have their turns.
    func executeAfterPoll(_ work: @escaping @Sendable () -> Void) {
        submit(.work(work), afterPoll: true)
    }

    private func submit(_ task: IOLoop.Task, afterPoll: Bool = false) {
        guard case .success = thread else { return Self.standIn.async { task.run() } }
        loop.submit(task, afterPoll: afterPoll)
    }

    /// Watches a descriptor for reading; for writing, see ``IORegistration/watchesRoom``.
    ///
    /// Call this method, and use its result, only on this thread.
    func register(_ descriptor: Int32, _ handler: any IOHandler) throws(Errno) -> IORegistration {
        try loop.register(descriptor, handler)
    }

    /// Stops watching a descriptor that is about to be closed; safe to call from any thread.
    ///
    /// Closing alone does not stop the reports if another process or descriptor refers to the same socket.
    func unwatch(_ descriptor: Int32) {
        loop.unwatch(descriptor)
    }

    /// Creates a registration for deadlines only.
    ///
    /// Call this method, and use its result, only on this thread.
    func registerTimer(_ handler: any IOHandler) -> IORegistration {
        loop.registerTimer(handler)
    }
}

/// A deadline on an ``IOThread``, which any thread may set.
package final class DeadlineTimer: Sendable {
    private let thread: IOThread
    private let shell: Shell

    /// - Note: `@unchecked Sendable` holds because everything except the constants is accessed only on the thread.
    private final class Shell: IOHandler, @unchecked Sendable {
        let handler: @Sendable () -> Void
        var registration: IORegistration?

        init(_ handler: @escaping @Sendable () -> Void) {
            self.handler = handler
        }

        func becameReady(_ readiness: Readiness) {}

        func deadlinePassed() { handler() }
    }

    /// Creates a timer that calls `handler` on `thread` once for every deadline that passes.
    package init(on thread: IOThread, _ handler: @escaping @Sendable () -> Void) {
        self.thread = thread
        shell = Shell(handler)
    }

    deinit {
        thread.execute { [shell] in
            shell.registration?.cancel()
            shell.registration = nil
        }
    }

    /// Replaces the deadline, in nanoseconds of ``MonotonicClock``; nil for none.
    package func set(_ deadline: UInt64?) {
        thread.execute { [shell, thread] in
            if shell.registration == nil { shell.registration = thread.registerTimer(shell) }
            shell.registration?.deadline = deadline
        }
    }
}

/// A handler's registration with an ``IOLoop``: its token, and its deadline.
///
/// Used only on the loop's thread.
final class IORegistration {
    let token: UInt64
    fileprivate unowned let loop: IOLoop
    fileprivate let handler: any IOHandler
    fileprivate let descriptor: Int32?

    /// The time of the next call of `deadlinePassed`, on the monotonic clock; nil for never.
    var deadline: UInt64? {
        didSet { loop.deadlineChanged(self) }
    }

    /// Whether writability is reported.
    ///
    /// Set only while something waits for it: a socket becomes writable with every piece that its peer reads, and every
    /// report wakes the thread.
    var watchesRoom = false {
        didSet { if watchesRoom != oldValue { loop.watchedRoomChanged(self) } }
    }

    /// The time of this registration's earliest entry among the loop's deadlines.
    ///
    /// A deadline that moves later, as it does with every frame, leaves the entry in place and is checked when the
    /// entry is due, so that moving it costs only a store.
    fileprivate var scheduled: UInt64?

    fileprivate init(token: UInt64, loop: IOLoop, handler: any IOHandler, descriptor: Int32?) {
        self.token = token
        self.loop = loop
        self.handler = handler
        self.descriptor = descriptor
    }

    /// Stops the reports and releases the handler.
    ///
    /// - Parameter isClosed: Whether the descriptor has already been unwatched and closed; its number may have been
    ///   reused.
    func cancel(isClosed: Bool = false) {
        loop.cancel(self, isClosed: isClosed)
    }
}

/// The event loop of an ``IOThread``: waits, reports, fires deadlines, runs jobs.
///
/// - Note: `@unchecked Sendable` holds because what other threads may access is in `inbox`, behind its lock, or never
///   changes; the rest is accessed only by the loop's own thread.
private final class IOLoop: @unchecked Sendable {
    enum Task {
        case job(TaskJob)
        case work(@Sendable () -> Void)

        func run() {
            switch self {
            case .job(let job): job.run()
            case .work(let work): work()
            }
        }
    }

    private struct Inbox {
        var tasks: [Task] = []
        /// The tasks that become due with the next poll.
        var later: [Task] = []
        var isAsleep = false
        var isStopped = false
    }

    /// The reason that the loop cannot run, if it cannot.
    let failure: Errno?

    private let poller: OwnedDescriptor
    private let wakeup: OwnedDescriptor
    private let inbox = Locked(Inbox())

    // The loop's thread alone uses these, and nothing that it calls while one is in use: a check at each use took 600
    // instructions a frame.
    @exclusivity(unchecked) private var registrations = SlotTable<IORegistration>()
    @exclusivity(unchecked) private var deadlines = DeadlineQueue()
    @exclusivity(unchecked) private var horizon = PollHorizon()
    @exclusivity(unchecked) private var running: [Task] = []
    private(set) var isCrowded = false

    /// The maximum number of reports per round; further ones follow in the next.
    private static let reportCapacity = 64

    init() {
        poller = OwnedDescriptor(frame_poller_create())
        wakeup = OwnedDescriptor(poller.rawValue >= 0 ? frame_wakeup_create(poller.rawValue) : -1)
        failure = wakeup.rawValue >= 0 ? nil : .current
    }

    // MARK: From any thread

    func submit(_ task: Task, afterPoll: Bool = false) {
        let mustWake = inbox.withLock { inbox in
            if afterPoll { inbox.later.append(task) } else { inbox.tasks.append(task) }
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if mustWake { wake() }
    }

    func stop() {
        inbox.withLock { $0.isStopped = true }
        wake()
    }

    private func wake() {
        _ = frame_wakeup_signal(wakeup.rawValue)
    }

    // MARK: On the loop's thread

    func run() {
        var goesOn = true
        while goesOn {
            unsafe withUnsafeTemporaryAllocation(of: frame_readiness.self, capacity: Self.reportCapacity) { reports in
                let count = unsafe waitForReports(reports)
                // Work submitted before the reports is done before they are handled: a close precedes the peer's
                // reaction to it.
                goesOn = runTasks()
                unsafe report(reports, count)
                // What the reports have resumed, and what that submits, such as releases, without a poll before each.
                for _ in 0..<2 where goesOn { goesOn = runTasks() }
            }
            fireDeadlines()
        }
    }

    /// Runs submitted work; false when the loop is to end.
    private func runTasks() -> Bool {
        let mayEnd = inbox.withLock { inbox in
            unsafe swap(&inbox.tasks, &running)
            return inbox.isStopped && inbox.later.isEmpty
        }
        guard unsafe !running.isEmpty else { return !mayEnd }
        for task in unsafe running { task.run() }
        unsafe running.removeAll(keepingCapacity: true)
        // A stopped loop still runs what its last tasks submitted: a dropped job would leave a task hanging.
        return true
    }

    /// Waits for a report or a task, and returns the number of reports.
    ///
    /// Descriptors are polled in every round, so that a consumer that never suspends for long cannot starve other
    /// connections.
    private func waitForReports(_ reports: UnsafeMutableBufferPointer<frame_readiness>) -> Int {
        let mayBlock = inbox.withLock { inbox in
            inbox.isAsleep = inbox.tasks.isEmpty && inbox.later.isEmpty && !inbox.isStopped
            return inbox.isAsleep
        }
        guard let base = reports.baseAddress else { return 0 }
        let start = MonotonicClock.now()
        let timeout = unsafe mayBlock ? deadlines.milliseconds(from: start) : 0
        let count = Int(unsafe frame_poller_wait(poller.rawValue, base, Int32(reports.count), timeout))
        // Two for each descriptor, since kqueue reports reading and writing separately, and the wake-up.
        unsafe horizon.polled(at: start, count: count, capacity: reports.count, limit: 2 * registrations.count + 1)
        inbox.withLock { inbox in
            inbox.isAsleep = false
            isCrowded = max(0, count) + inbox.later.count >= reports.count
            guard !inbox.later.isEmpty else { return }
            inbox.tasks += inbox.later
            inbox.later.removeAll(keepingCapacity: true)
        }
        return max(0, count)
    }

    private func report(_ reports: UnsafeMutableBufferPointer<frame_readiness>, _ count: Int) {
        for index in 0..<count {
            let report = unsafe reports[index]
            unsafe registrations[report.token]?.handler.becameReady(Readiness(rawValue: report.flags))
        }
    }

    /// Fires the deadlines that passed before the last poll: what arrived before them has been handled.
    private func fireDeadlines() {
        let now = unsafe horizon.time
        while let token = unsafe deadlines.popFirst(upTo: now) {
            guard let registration = unsafe registrations[token] else { continue }
            registration.scheduled = nil
            guard let deadline = registration.deadline else { continue }
            if deadline <= now {
                registration.deadline = nil
                registration.handler.deadlinePassed()
            } else {
                deadlineChanged(registration)
            }
        }
    }

    func register(_ descriptor: Int32, _ handler: any IOHandler) throws(Errno) -> IORegistration {
        let registration = add(handler, descriptor)
        guard frame_poller_add(poller.rawValue, descriptor, registration.token) == 0 else {
            let error = Errno.current
            _ = unsafe registrations.remove(registration.token)
            throw error
        }
        return registration
    }

    func registerTimer(_ handler: any IOHandler) -> IORegistration {
        add(handler, nil)
    }

    private func add(_ handler: any IOHandler, _ descriptor: Int32?) -> IORegistration {
        unsafe registrations.insert { token in
            IORegistration(token: token, loop: self, handler: handler, descriptor: descriptor)
        }
    }

    func cancel(_ registration: IORegistration, isClosed: Bool) {
        guard unsafe registrations.remove(registration.token) != nil else { return }
        unsafe deadlines.remove(registration.token)
        if let descriptor = registration.descriptor, !isClosed {
            _ = frame_poller_remove(poller.rawValue, descriptor)
        }
    }

    func unwatch(_ descriptor: Int32) {
        _ = frame_poller_remove(poller.rawValue, descriptor)
    }

    func watchedRoomChanged(_ registration: IORegistration) {
        guard let descriptor = registration.descriptor, unsafe registrations[registration.token] != nil else { return }
        let watches = registration.watchesRoom
        _ = frame_poller_watch_room(poller.rawValue, descriptor, registration.token, watches)
    }

    func deadlineChanged(_ registration: IORegistration) {
        guard let deadline = registration.deadline else { return }
        if let scheduled = registration.scheduled, scheduled <= deadline { return }
        guard unsafe registrations[registration.token] != nil else { return }
        registration.scheduled = deadline
        unsafe deadlines.set(deadline, token: registration.token)
    }
}
