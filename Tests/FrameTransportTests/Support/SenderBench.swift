import FrameTransport
import FrameWire

/// The system of a sender's two machines, without sockets: a script takes their place, and the clock advances only when told to.
final class SenderBench: SenderMachine.System {
    /// What an attempt to connect comes to.
    enum Attempt {
        case connected
        case hanging
        case failed(Errno)
        case unusable(TransportError)
        case refused(TransportError)
    }

    /// What the server has written, or done.
    enum Input {
        case bytes([UInt8])
        case end
        case failure(Errno)
    }

    static let second: UInt64 = 1_000_000_000

    var machine: SenderMachine
    var lane = SendLaneMachine(padsShortBodies: false)
    var now: UInt64 = 1000 * second

    /// What the next attempts come to; later ones find no server.
    var attempts: [Attempt] = []
    var input: [Input] = []
    /// How many bytes the socket still takes.
    var room = Int.max
    /// How the next write fails.
    var writeFailure: Errno?

    // What the machines have done.
    private(set) var connects = 0
    private(set) var readsInTurn = 0
    private(set) var output: [UInt8] = []
    private(set) var hasSocket = false
    private(set) var isShutDown = false
    var watchesRoom: Bool { hasSocket && machine.watchesRoom }
    private(set) var deadline: UInt64?
    private(set) var deadlinesSet = 0
    private(set) var wantsTurn = false
    private var peer = SenderMachine.Peer.admitted
    private let tokens: HandshakeTokens?
    /// Those who wait, or have waited, for an opening.
    private(set) var waiters: [Int: Opening] = [:]
    private(set) var states: [SocketConnection.State] = []
    /// The states in which a connection has begun or ended.
    var beginningsAndEnds: [SocketConnection.State] { states.filter { $0 == .connected || $0.closeReason != nil } }
    private(set) var requests: [ControlRequest] = []
    private(set) var skippedRequests = 0
    private(set) var discardNotices = 0
    private(set) var terms: [ReceiverTerms] = []
    private(set) var ends: [CloseReason] = []
    /// What those who wait for an opening were told; nil for an opening.
    var openings: [Int: [TransportError.Code?]] {
        waiters.compactMapValues { $0.result.value.map { [$0.error?.code] } }
    }
    /// What became of frames; nil for those that were sent.
    private(set) var frames: [Int: [TransportError.Code?]] = [:]

    init(sharesMemory: Bool = false, _ change: (inout SocketConnection.Configuration) -> Void = { _ in }) {
        var configuration = SocketConnection.Configuration()
        change(&configuration)
        tokens = configuration.tokens
        machine = SenderMachine(name: "the endpoint", configuration, sharesMemory: sharesMemory)
    }

    /// A bench with an open connection.
    static func open(
        sharesMemory: Bool = false,
        _ change: (inout SocketConnection.Configuration) -> Void = { _ in }
    ) -> SenderBench {
        let bench = SenderBench(sharesMemory: sharesMemory, change)
        bench.attempts = [.connected]
        bench.change { $0.open(bench) }
        return bench
    }

    // MARK: What happens

    func change(_ report: (inout SenderMachine) -> Void) {
        readsInTurn = 0
        report(&machine)
        guard deadline != machine.deadline else { return }
        deadline = machine.deadline
        deadlinesSet += 1
    }

    func open(waiter: Int, seconds: UInt64? = nil) {
        let deadline = seconds.map { now + $0 * Self.second }
        let opening = Opening(limit: seconds.map { .seconds($0) }, deadline: deadline)
        waiters[waiter] = opening
        change { $0.open(for: opening, self) }
    }

    /// Somebody waits for one attempt, for as long as it takes.
    func openOnce(waiter: Int) {
        let opening = Opening(limit: .zero, deadline: nil)
        waiters[waiter] = opening
        change { $0.open(for: opening, self) }
    }

    /// The task of one who waits for an opening is cancelled.
    func abandon(waiter: Int) {
        guard let opening = waiters[waiter] else { return }
        change { $0.abandon(opening, self) }
    }

    /// The server writes and does this, of which one report is made.
    func receive(_ input: Input...) {
        self.input += input
        change { $0.becameReady(readable: true, writable: false, self) }
        while wantsTurn { runTurn() }
    }

    func receive(_ requests: ControlRequest...) {
        receive(.bytes(requests.flatMap { $0.encoded() }))
    }

    func runTurn() {
        wantsTurn = false
        change { $0.continueTurn(self) }
    }

    /// The server reads `count` bytes.
    func makeRoom(_ count: Int) {
        room = room > .max - count ? .max : room + count
        if watchesRoom { change { $0.becameReady(readable: false, writable: true, self) } }
    }

    /// A program sends a frame.
    func submit(_ message: FrameMessage, ticket: Int) throws(TransportError) {
        try lane.submit(message, ticket: ticket)
        write()
        let progress = lane.progress
        if progress != .sent { change { $0.laneChanged(to: progress, self) } }
    }

    /// Moves the clock, and lets the deadlines pass that are due on the way.
    func pass(seconds: UInt64) { pass(nanoseconds: seconds * Self.second) }

    func pass(nanoseconds: UInt64) {
        let end = now + nanoseconds
        while let next = deadline, next <= end {
            now = max(now, next)
            deadline = nil
            change { $0.deadlinePassed(self) }
        }
        now = end
    }

    // MARK: What the machine calls

    func connect() -> SenderMachine.Attempt {
        connects += 1
        (hasSocket, isShutDown, peer) = (true, false, .admitted)
        switch attempts.isEmpty ? .failed(.refused) : attempts.removeFirst() {
        case .connected: return .connected
        case .hanging: return .pending
        case .failed(let error): return .failed(error)
        case .unusable(let error): return .unusable(error)
        case .refused(let error): peer = .refused(error)
        }
        return .connected
    }

    func checkPeer() -> SenderMachine.Peer { peer }

    func writeToken(from offset: Int) throws(Errno) -> Transfer {
        if let failure = writeFailure { throw failure }
        let rest = tokens?.own.dropFirst(offset).prefix(room) ?? []
        guard !rest.isEmpty else { return .wouldBlock }
        room -= rest.count
        output += rest
        return .bytes(rest.count, isShort: false)
    }

    func read(into run: MemoryRun) throws(Errno) -> Transfer {
        readsInTurn += 1
        guard !input.isEmpty else { return .wouldBlock }
        switch input.removeFirst() {
        // No bytes are no piece, and not the end.
        case .bytes(let bytes) where bytes.isEmpty: return try unsafe read(into: run)
        case .bytes(let bytes):
            let count = min(bytes.count, run.count)
            if bytes.count > count { input.insert(.bytes(Array(bytes.dropFirst(count))), at: 0) }
            unsafe run.copyBytes(from: bytes.prefix(count))
            return .bytes(count, isShort: false)
        case .end:
            input.insert(.end, at: 0)
            return .bytes(0, isShort: false)
        case .failure(let error): throw error
        }
    }

    func shutDownSending() { isShutDown = true }

    /// Whether the server has read what was sent.
    var hasReadAll = true
    func hasDelivered(isOrderly: Bool) -> Bool { isOrderly && lane.hasSent && hasReadAll }

    func closeSocket(_ loss: TransportError) {
        hasSocket = false
        settle(lane.close(loss))
    }

    func yield() { wantsTurn = true }

    func openLane(connection: Int) {
        lane.open(connection: connection, fittingByteCount: .max)
    }

    func lane(_ change: (inout SendLaneMachine) -> SendLaneMachine.Settlement?) -> SendLaneMachine.Progress {
        settle(change(&lane))
        write()
        return lane.progress
    }

    func publish(_ state: SocketConnection.State) { states.append(state) }
    func publish(_ terms: ReceiverTerms) { self.terms.append(terms) }
    func publish(_ info: ControlRequest.SessionInfo) {}
    func deliver(_ request: ControlRequest) { requests.append(request) }
    func countSkippedRequest() { skippedRequests += 1 }
    func noteDiscarded() { discardNotices += 1 }
    func end(_ reason: CloseReason) { ends.append(reason) }

    private func write() {
        while let write = lane.nextWrite() {
            if let failure = writeFailure {
                settle(lane.writeFailed(failure))
            } else if room == 0 {
                lane.wouldBlock()
            } else {
                let bytes = write.bytes.prefix(room)
                output += bytes
                room -= bytes.count
                settle(lane.didWrite(bytes.count))
            }
        }
    }

    private func settle(_ settlement: SendLaneMachine.Settlement?) {
        guard let settlement else { return }
        frames[settlement.ticket, default: []].append(settlement.error?.code)
    }
}

extension SendLaneMachine.Write {
    /// A copy of what is to be written.
    var bytes: [UInt8] {
        unsafe Array(runs.header) + Array(runs.body) + Array(runs.padding)
    }
}

extension Result where Success == Void, Failure == TransportError {
    /// The error; nil for a success.
    var error: TransportError? { if case .failure(let error) = self { error } else { nil } }
}
