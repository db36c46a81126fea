internal import FrameTransport

/// Everything that one history takes place in: clock, sockets, paths, threads and whoever uses them.
@safe final class World {
    let seed: UInt64
    let plan: Plan
    let coverage: Coverage
    /// What happened, line by line, if somebody wants to read it.
    var trace: [String]?
    var now: UInt64 = 1_000_000_000
    var events = EventQueue()
    var random: Random
    /// How many events there were.
    var eventCount = 0
    /// How often the steps of the plan were taken.
    var rounds = 0
    var violation: Violation?

    var sockets: [SimSocket] = []
    var places: [Place]
    var threads: [SimThread] = []
    /// Descriptors that processes of this package hold, and how many they may.
    var descriptors = 0
    var descriptorLimit = Int.max
    /// Whether somebody has asked for a descriptor in vain during this shortage.
    var hasMissedDescriptors = false

    var actors: [Actor] = []
    /// Sockets that have connected and do nothing more.
    var strays: [Int] = []
    var peers: [ScriptedPeer] = []
    var senders: [SimSender] = []
    var servers: [SimServer] = []
    /// The programs that start servers, and the server that each has at present.
    var serverPlans: [(plan: ServerPlan, current: SimServer?)] = []
    var receivers: [SimReceiver] = []
    var budgets: [SimBudget]
    var monitors: [SenderMonitor] = []
    let pool = FrameBytes.Pool(maximumIdleBytes: 16 << 20)
    let outlet = Outlet()
    /// The descriptors that came with the bytes of the last read.
    var arrivals: [SharedMemory] = []
    /// The memory that senders of this package have made.
    var sharedMemory: [WeakMemory] = []

    /// Memory that reads go to whose bytes nobody keeps.
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)

    /// What the handler that is being called has read so far.
    var turn = TurnCount()

    /// Somebody who takes part in a history.
    enum Actor {
        case peer(Int)
        case server(Int)
        case sender(Int)
    }

    init(_ plan: Plan, seed: UInt64, _ coverage: Coverage, isTraced: Bool = false) {
        (self.plan, self.seed, self.coverage) = (plan, seed, coverage)
        trace = isTraced ? [] : nil
        random = Random(seed: seed, part: -1)
        places = plan.places.map { Place(isPort: $0.isPort, isEphemeral: $0.isEphemeral) }
        budgets = plan.budgets.map { SimBudget(bytes: $0) }
        // Nothing that a sender promises takes long, so that only threads of servers are held up.
        let busy = plan.actors.compactMap { if case .sender(let sender) = $0 { sender.thread } else { nil } }
        threads = (0..<plan.threads).map { SimThread(isHeldUp: !busy.contains($0)) }
        for actor in plan.actors {
            switch actor {
            case .peer(var peer):
                peer.random = Random(seed: seed, part: 500 + peers.count)
                actors.append(.peer(peers.count))
                peers.append(peer)
            case .server(let server):
                actors.append(.server(serverPlans.count))
                serverPlans.append((server, nil))
            case .sender(let sender):
                actors.append(.sender(senders.count))
                senders.append(SimSender(sender, self))
            }
        }
    }

    deinit {
        unsafe scratch.deallocate()
    }

    /// Does something later.
    func schedule(after delay: UInt64, _ body: @escaping () -> Void) {
        events.schedule(at: now &+ delay, body)
    }

    /// Notes that a promise was broken; the first one counts.
    func violate(_ promise: Promise, _ detail: @autoclosure () -> String) {
        guard violation == nil else { return }
        violation = Violation(promise: promise, detail: detail())
        note(violation.map { "VIOLATED \($0)" } ?? "")
    }

    /// Checks a promise.
    func check(_ promise: Promise, _ holds: Bool, _ detail: @autoclosure () -> String) {
        coverage.checked(promise)
        if !holds { violate(promise, detail()) }
    }

    /// Writes a line of the trace, if there is one.
    func note(_ line: @autoclosure () -> String) {
        guard trace != nil else { return }
        let text = line().replacing("FrameTransport.", with: "").replacing("FrameWire.", with: "")
        trace?.append("\((now - 1_000_000_000) / 1_000) us  \(text)")
    }

    /// The first bytes of the memory that is used again and again.
    func scratch(_ count: Int) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(count, scratch.count)])
    }
}

/// What one call of a handler has done.
struct TurnCount {
    var reads = 0
    var bytes = 0
    var messages = 0
    var accepts = 0
}
