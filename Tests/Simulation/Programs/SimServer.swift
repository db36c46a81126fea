internal import FrameTransport
internal import FrameWire

/// A server of this package, from its creation to its end, and the program around it.
final class SimServer: Owner {
    let index: Int
    let plan: ServerPlan
    let tokens: HandshakeTokens?
    let limits: FrameServer.Limits

    var machine: ListenerMachine
    var arrivals = SimConsumer<Int>(capacity: .init(count: .max), overflow: .refused)
    var socket: Int
    var registration = -1
    var timer = -1
    /// The socket that was accepted last, until the machine says what becomes of it.
    var accepted = -1
    /// The sockets that were accepted when it was closed, until its thread hears of them.
    var last: [Int] = []
    /// The connections, by their numbers.
    var connections: [Int: Int] = [:]
    var presented: [Int] = []
    var isClosed = false
    var isFinished = false
    var isDraining = false
    var isRunning = false
    /// The events that follow the one that the machine is handling.
    var events: [(inout ListenerMachine) -> Void] = []
    unowned let world: World
    var thread: Int { plan.thread }

    // The program.
    var pace: Plan.ConsumerPace
    var takesConnections: Bool
    /// The latest connection that the program has taken.
    var current = -1

    func becameReady(_: Readiness) { world.change(self) { $0.becameReady() } }
    func deadlinePassed() { world.change(self) { [self] in $0.deadlinePassed(self) } }

    /// The thread that reads a connection.
    func reader(of id: Int) -> Int {
        plan.readers.isEmpty ? plan.thread : plan.readers[id % plan.readers.count]
    }

    init(_ world: World, _ plan: ServerPlan, index: Int, socket: Int, tokens: HandshakeTokens?) {
        self.world = world
        self.index = index
        self.plan = plan
        self.socket = socket
        self.tokens = tokens
        pace = plan.pace
        takesConnections = plan.takesConnections
        var limits = FrameServer.Limits()
        limits.maximumConnections = plan.connections
        limits.firstFrameTimeout = plan.firstFrame.map { .nanoseconds(Int64($0)) }
        limits.idleTimeout = plan.idle.map { .nanoseconds(Int64($0)) }
        limits.maximumHandshakes = plan.handshakes
        self.limits = limits
        machine = ListenerMachine(limits: limits, usesTokens: tokens != nil)
    }
}
