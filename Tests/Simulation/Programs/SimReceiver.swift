internal import FrameTransport
internal import FrameWire

/// A received connection of a server of this package, and the tasks that consume it.
final class SimReceiver: Owner {
    unowned let world: World
    let server: Int
    let index: Int
    let id: Int
    let thread: Int
    let budget: Int
    /// Its number to the budget, and what it has of that as long as it lasts.
    let account: UInt64
    let part: BudgetMachine<Int>.Part
    let requestCapacity: Int
    /// Whether its consumer runs on the connection's own thread.
    let consumesOnThread: Bool

    var machine: ReceiverMachine
    /// What the machine has called during the present event.
    var calls = 0
    var frames: SimConsumer<SimFrame>
    var audio: SimConsumer<AudioBlock>
    var statuses = SimConsumer<SenderStatus>(capacity: .init(count: 16), overflow: .replacesOldest)
    var socket: Int
    var registration = -1
    /// The bodies that the budget counts for it.
    var counted = 0
    /// The size of the body that is being read, if the budget counts it.
    var countedBody = 0
    /// The body that has asked for memory and not begun, and whether it was admitted since.
    var waiting: (bytes: Int, isAdmitted: Bool)?
    /// How often it has asked for memory.
    var asks = 0
    /// Whether the budget keeps what was left unread.
    var isKept = false
    var isPresented = false
    /// Its place at the server, which is revocable until its sender has shown its token.
    var place = Place.revocable
    var closeReason: CloseReason?
    var deliveryHasEnded = false
    /// Whether frames came since the consumer was last woken.
    var hasHeldBack = false

    // Shared memory.
    let acceptsSharedMemory: Bool
    var shared = SimMappings()
    /// The frames with images that the program keeps, and the one that it is busy with.
    var kept: [SimFrame] = []
    var inHand: SimFrame?
    /// How many images have been delivered, and not been released.
    var loanCount = 0

    // The program.
    var isTaken = false
    var isLetGo = false
    var isClosed = false
    /// Whether it is busy with a frame.
    var isBusy = false

    /// Decides which of the consumers and the connection's thread is faster.
    var racing: Random
    /// What the consumers do soon, and may do sooner.
    var pending: [Pending] = []

    // What has come.
    var lastFrame: Content.Identity?
    var frameCount = 0
    var lastIndex = -1
    var lastAudio: UInt32 = 0
    var delivered = 0
    /// What its program states.
    let statement: Int
    /// What the machine was last told that is wanted, and all that was ever asked for.
    var stated: ControlRequest.Wants?
    var asked: ControlRequest.Wants = []
    /// Whether its program has let go of frames that it had not taken.
    var hasDiscarded = false
    /// When its machine began to linger, and whether there was something then that its program had not taken.
    var lingersSince: UInt64?
    var hadUntaken = false
    /// When it began to drain.
    var drainedAt: UInt64?
    /// Whether its thread was told to close it.
    var wasClosed = false
    /// The stop with which its program has closed it, until that is written, and when it need not be any longer.
    var owedStop: (request: [UInt8], until: UInt64)?
    /// When its sender was last heard of, or told to speak.
    var heardAt: UInt64 = 0
    var hasPaused = false
    /// Whether nothing is wanted of its sender.
    var maySenderBeSilent: Bool { hasPaused || stated?.isEmpty ?? false }
    /// Whether frames were dropped or skipped, so that their places have gaps.
    var hasSkippedFrames = false
    var wasCancelled = false
    var isDraining = false
    /// Whether this side ends the connection, which it may not have heard of yet.
    var isEnding: Bool { isClosed || isDraining }

    enum Place {
        case revocable, kept, revoked
    }

    func becameReady(_ readiness: Readiness) { world.change(self) { $0.becameReady(readiness, self) } }
    func deadlinePassed() { world.change(self) { $0.deadlinePassed(self) } }

    init(_ world: World, server: SimServer, id: Int, socket: Int) {
        (self.world, self.server, self.id, self.socket) = (world, server.index, id, socket)
        index = world.receivers.count
        racing = Random(seed: world.seed, part: 200_000 + index)
        thread = server.reader(of: id)
        budget = server.plan.budget
        (account, part) = world.budgets[budget].machine.join(index)
        consumesOnThread = server.plan.consumesOnThread
        requestCapacity = server.plan.requestCapacity
        var configuration = ReceiverMachine.Configuration()
        configuration.limits = server.limits
        configuration.expectedToken = server.tokens?.expected
        configuration.ownToken = server.tokens?.own ?? []
        configuration.hello = server.plan.hello.map { ControlRequest.Hello(wants: $0) }
        statement = server.plan.statement
        configuration.info = Statement.info(statement)
        configuration.usualBody = part.usualBody
        configuration.audioLimit = part.audio
        configuration.largestBody = world.budgets[budget].machine.largestBody
        configuration.resetKeepsData = !server.plan.isPort
        acceptsSharedMemory = server.plan.acceptsSharedMemory && !server.plan.isPort
        configuration.acceptsSharedMemory = acceptsSharedMemory
        // Shared memory is asked for in a hello.
        let greets = acceptsSharedMemory || statement > 0
        stated = server.plan.hello ?? (greets ? ControlRequest.Hello().wants : nil)
        asked = stated ?? []
        hasSkippedFrames = server.plan.hello.map { !$0.contains(.frames) } ?? false
        machine = ReceiverMachine(configuration, pool: world.pool)
        frames = SimConsumer(
            capacity: .init(count: 1, longest: FrameServer.Delivery.maximumReadAhead),
            overflow: server.plan.deliversNewest ? .replacesOldest : .refused
        )
        audio = SimConsumer(capacity: .init(count: 64, weight: part.audio), overflow: .replacesOldest)
    }
}

/// A mailbox, and the task of a program that takes what comes, one after the other.
struct SimConsumer<Element> {
    var mailbox: MailboxMachine<Element, UInt64>
    /// Its number while it waits, and until it runs again.
    var waiter: UInt64?
    var hasBeenWoken = false
    var hasEnded = false
    private var lastWaiter: UInt64 = 0

    init(capacity: MailboxMachine<Element, UInt64>.Capacity, overflow: MailboxMachine<Element, UInt64>.Overflow) {
        mailbox = MailboxMachine(capacity: capacity, overflow: overflow)
    }

    /// Waits for the next element; returns whether it is to be woken at once.
    mutating func wait() -> Bool {
        lastWaiter += 1
        waiter = lastWaiter
        return !mailbox.wait(lastWaiter)
    }

    /// Whether it is the one that the mailbox wants woken, and has not been.
    mutating func mustWake(_ woken: UInt64?) -> Bool {
        guard let woken, woken == waiter, !hasBeenWoken else { return false }
        hasBeenWoken = true
        return true
    }

    /// What there is for it.
    mutating func take() -> MailboxMachine<Element, UInt64>.Found {
        let wasWoken = waiter != nil
        (waiter, hasBeenWoken) = (nil, false)
        return mailbox.take(wasWoken: wasWoken)
    }

    /// Takes everything that there is; returns the end, if it has come.
    mutating func takeAll(_ body: (Element) -> Void) -> TransportError?? {
        while true {
            switch take() {
            case .element(let element, _, _): body(element)
            case .nothing: return nil
            case .end(let error):
                hasEnded = true
                return .some(error)
            }
        }
    }
}

/// A memory budget, and who uses it.
struct SimBudget {
    /// Its connections are indices of ``World/receivers``.
    var machine: BudgetMachine<Int>
    /// The bodies that were admitted, and neither taken nor dropped.
    var admitted = 0
    /// The connections whose bodies wait, in the order in which they have asked.
    var line: [Int] = []

    init(bytes: Int) {
        machine = BudgetMachine(bytes: bytes)
    }
}
