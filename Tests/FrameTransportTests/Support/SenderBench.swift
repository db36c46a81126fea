import FrameTransport
import FrameWire

/// A sender's two machines without a system: a script takes its place, and the clock advances only when told to.
final class SenderBench {
    /// What an attempt to connect comes to.
    enum Attempt {
        case connected
        case hanging
        case connectedToItself
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
    private(set) var watchesRoom = false
    private(set) var deadline: UInt64?
    private(set) var deadlinesSet = 0
    private(set) var wantsTurn = false
    private(set) var states: [SocketConnection.State] = []
    /// The states in which a connection has begun or ended.
    var beginningsAndEnds: [SocketConnection.State] { states.filter { $0 == .connected || $0.closeReason != nil } }
    private(set) var requests: [ControlRequest] = []
    private(set) var info = ControlRequest.SessionInfo()
    private(set) var skippedRequests = 0
    private(set) var terms: [ReceiverTerms] = []
    private(set) var ends: [CloseReason] = []
    /// What those who wait for an opening were told; nil for an opening.
    private(set) var openings: [Int: [TransportError.Code?]] = [:]
    /// The last error that somebody who waits for an opening was told.
    private(set) var lastOpeningError: TransportError?
    /// What became of frames; nil for those that were sent.
    private(set) var frames: [Int: [TransportError.Code?]] = [:]

    init(_ change: (inout SenderMachine.Settings) -> Void = { _ in }) {
        var settings = SenderMachine.Settings(name: "the endpoint")
        change(&settings)
        machine = SenderMachine(settings)
    }

    /// A bench with an open connection.
    static func open(_ change: (inout SenderMachine.Settings) -> Void = { _ in }) -> SenderBench {
        let bench = SenderBench(change)
        bench.attempts = [.connected]
        bench.report { $0.open(at: $1) }
        return bench
    }

    // MARK: What happens

    func report(_ event: (inout SenderMachine, UInt64) -> Void) {
        readsInTurn = 0
        event(&machine, now)
        while let command = machine.nextCommand() { execute(command) }
    }

    func open(waiter: Int, seconds: UInt64? = nil) {
        let deadline = seconds.map { now + $0 * Self.second }
        report { $0.open(waiter: waiter, limit: seconds.map { .seconds($0) }, deadline: deadline, at: $1) }
    }

    /// The server writes and does this, of which one report is made.
    func receive(_ input: Input...) {
        self.input += input
        report { $0.becameReady(readable: true, writable: false, at: $1) }
        runTurns()
    }

    func receive(_ requests: ControlRequest...) {
        receive(.bytes(requests.flatMap { $0.encoded() }))
    }

    func runTurns() {
        while wantsTurn { runTurn() }
    }

    func runTurn() {
        wantsTurn = false
        report { $0.continueTurn(at: $1) }
    }

    /// The server reads `count` bytes.
    func makeRoom(_ count: Int) {
        room = room > .max - count ? .max : room + count
        if watchesRoom { report { $0.becameReady(readable: false, writable: true, at: $1) } }
    }

    /// A program sends a frame.
    func submit(_ message: FrameMessage, ticket: Int) throws(TransportError) {
        try lane.submit(message, ticket: ticket)
        write()
        let progress = lane.progress
        if progress != .sent { report { $0.laneProgressed(progress, at: $1) } }
    }

    /// A program gives up waiting for a frame.
    func cancel(_ ticket: Int) {
        settle(lane.cancel(ticket))
    }

    /// Moves the clock, and lets the deadlines pass that are due on the way.
    func pass(seconds: UInt64) { pass(nanoseconds: seconds * Self.second) }

    func pass(nanoseconds: UInt64) {
        let end = now + nanoseconds
        while let next = deadline, next <= end {
            now = max(now, next)
            deadline = nil
            report { $0.deadlinePassed(at: $1) }
        }
        now = end
    }

    // MARK: What the machine wants

    private func execute(_ command: SenderMachine.Command) {
        switch command {
        case .connect: connect()
        case .checkConnected: machine.connected(at: now)
        case .checkPeer: machine.peerAdmitted(at: now)
        case .writeToken(let offset): writeToken(from: offset)
        case .read(let limit): read(limit)
        case .shutdownSending: isShutDown = true
        case .watchRoom(let watches): watchesRoom = watches
        case .setDeadline(let deadline):
            self.deadline = deadline
            deadlinesSet += 1
        case .closeSocket(let error):
            (hasSocket, watchesRoom) = (false, false)
            settle(lane.close(error))
        case .lane(let order): obey(order)
        case .settle(let waiter, let error):
            openings[waiter, default: []].append(error?.code)
            if let error { lastOpeningError = error }
        case .tell(let news): note(news)
        case .continueLater: wantsTurn = true
        }
    }

    private func connect() {
        connects += 1
        (hasSocket, isShutDown) = (true, false)
        switch attempts.isEmpty ? .failed(.refused) : attempts.removeFirst() {
        case .connected: machine.connected(at: now)
        case .hanging: break
        case .connectedToItself: machine.peerIsThisSide(at: now)
        case .failed(let error): machine.connectFailed(error, at: now)
        case .unusable(let error): machine.endpointIsUnusable(error, at: now)
        case .refused(let error): machine.peerRefused(error, at: now)
        }
    }

    private func writeToken(from offset: Int) {
        if let failure = writeFailure { return machine.tokenWriteFailed(failure, at: now) }
        let count = min(room, (machine.settings.tokens?.own.count ?? 0) - offset)
        room -= count
        output += machine.settings.tokens?.own[offset..<(offset + count)] ?? []
        machine.didWriteToken(count, at: now)
    }

    private func read(_ limit: Int) {
        readsInTurn += 1
        guard !input.isEmpty else { return machine.readWouldBlock(at: now) }
        switch input.removeFirst() {
        case .bytes(let bytes):
            if bytes.count > limit { input.insert(.bytes(Array(bytes.dropFirst(limit))), at: 0) }
            machine.didRead(Array(bytes.prefix(limit)).span, at: now)
        case .end:
            input.insert(.end, at: 0)
            machine.reachedEndOfStream(at: now)
        case .failure(let error): machine.readFailed(error, at: now)
        }
    }

    private func obey(_ order: SenderMachine.LaneOrder) {
        switch order {
        case .open(let connection, let wants):
            return lane.open(connection: connection, wants: wants, fittingByteCount: .max)
        case .setWants(let wants, let info, let status):
            settle(lane.setWants(wants, info: info, answering: status))
        case .setPaused(let isPaused, let status): settle(lane.setPaused(isPaused, answering: status))
        case .answer(let status): lane.send(status)
        case .declineShared: settle(lane.declineShared())
        case .resume: lane.hasRoom()
        case .end(let last, let error): settle(lane.end(last: last, withdrawing: error))
        case .report: break
        }
        write()
        machine.laneProgressed(lane.progress, at: now)
    }

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

    private func note(_ news: SenderMachine.News) {
        switch news {
        case .state(let state): states.append(state)
        case .terms(let terms): self.terms.append(terms)
        case .hello: break
        case .info(let info): self.info = info
        case .request(let request): requests.append(request)
        case .skippedRequest: skippedRequests += 1
        case .ended(let reason): ends.append(reason)
        }
    }
}

extension SendLaneMachine.Write {
    /// A copy of what is to be written.
    var bytes: [UInt8] {
        unsafe Array(runs.header) + Array(runs.body) + Array(runs.padding)
    }
}
