internal import FrameTransport

/// Everything that one history takes place in: clock, sockets, paths, threads and whoever uses them.
///
/// It is used again for the next history, with its memory.
@safe final class World {
    var now: UInt64 = 0
    var events = EventQueue()
    var random = Random(seed: 0)
    var seed: UInt64 = 0

    var sockets: [SimSocket] = []
    /// How many of `sockets` belong to this history; those behind are memory for later.
    var socketCount = 0
    var places: [Place] = []
    var threads: [SimThread] = []
    /// Descriptors that processes of this package hold, and how many they may.
    var descriptors = 0
    var descriptorLimit = Int.max
    /// Whether somebody has asked for a descriptor in vain during this shortage.
    var hasMissedDescriptors = false

    var actors: [ActorIndex] = []
    /// Sockets that have connected and do nothing more.
    var strays: [Int] = []
    var peers: [ScriptedPeer] = []
    var peerCount = 0

    var senders: [SimSender] = []
    var servers: [SimServer] = []
    var serverPlans: [(plan: ServerPlan, usesTokens: Bool, current: Int)] = []
    var receivers: [SimReceiver] = []
    var budgets: [SimBudget] = []
    var monitors: [SenderMonitor] = []
    var timers: [(timer: ProgramTimer, owner: ProgramOwner, hasRun: Bool)] = []
    let pool = FrameBytes.Pool(maximumIdleBytes: 16 << 20)
    let outlet = Outlet()
    /// The descriptors that came with the bytes of the last read.
    var arrivals: [SimDescriptor] = []
    /// The memory that senders of this package have made.
    var sharedMemory: [WeakMemory] = []

    var eventCount = 0
    /// Of all events in all histories.
    var digest = EventDigest()
    /// How often the steps of the plan were taken.
    var rounds = 0
    var coverage = Coverage()
    var trace = Trace()
    var violation: Violation?

    /// Memory that reads go to whose bytes nobody keeps.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)

    /// What the handler that is being called has read so far.
    var turn = TurnCount()

    /// Forgets the last history.
    func reset(seed: UInt64, places placeCount: Int, threads threadCount: Int) {
        now = 1_000_000_000
        self.seed = seed
        random = Random(seed: seed, part: -1)
        events.removeAll()
        socketCount = 0
        places.removeAll(keepingCapacity: true)
        for _ in 0..<placeCount { places.append(Place()) }
        while threads.count < threadCount { threads.append(SimThread()) }
        for index in threads.indices { threads[index].reset() }
        peerCount = 0
        strays.removeAll(keepingCapacity: true)
        senders.removeAll(keepingCapacity: true)
        servers.removeAll(keepingCapacity: true)
        serverPlans.removeAll(keepingCapacity: true)
        receivers.removeAll(keepingCapacity: true)
        budgets.removeAll(keepingCapacity: true)
        monitors.removeAll(keepingCapacity: true)
        timers.removeAll(keepingCapacity: true)
        (descriptors, descriptorLimit, hasMissedDescriptors) = (0, .max, false)
        eventCount = 0
        rounds = 0
        coverage.endHistory()
        trace.removeAll()
        violation = nil
        turn = TurnCount()
        arrivals.removeAll()
        sharedMemory.removeAll(keepingCapacity: true)
        // What the last history has left is released by now.
        outlet.loans.removeAll()
        outlet.mappings = 0
    }

    /// Notes that a promise was broken; the first one counts.
    func violate(_ promise: Promise, _ detail: @autoclosure () -> String) {
        guard violation == nil else { return }
        violation = Violation(promise: promise, detail: detail(), time: now)
        note(violation.map { "VIOLATED \($0)" } ?? "")
    }

    /// Checks a promise.
    func check(_ promise: Promise, _ holds: Bool, _ detail: @autoclosure () -> String) {
        coverage.checked(promise)
        if !holds { violate(promise, detail()) }
    }

    /// Writes a line of the trace, if there is one.
    func note(_ line: @autoclosure () -> String) {
        guard trace.isOn else { return }
        trace.append(line().replacing("FrameTransport.", with: "").replacing("FrameWire.", with: ""), at: now)
    }

    /// The first bytes of the memory that is used again and again.
    func scratch(_ count: Int) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(count, scratch.count)])
    }

    /// A time a little later, as scheduling makes it.
    func soon(_ range: ClosedRange<UInt64> = 500...20_000) -> UInt64 {
        now + random.time(in: range)
    }
}

/// What one call of a handler has done.
struct TurnCount {
    var reads = 0
    var bytes = 0
    var messages = 0
    var writes = 0
    var accepts = 0
}
