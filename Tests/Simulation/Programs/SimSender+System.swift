internal import FrameTransport
internal import FrameWire

/// What a sender's machine calls: the simulated socket and program.
extension SimSender: SenderMachine.System {
    var now: UInt64 { world.now }

    /// Notes a call of the machine, by chance lets the program be faster, and carries the call out.
    private func perform<Result, Failure: Error>(
        _ call: @autoclosure () -> String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        world.note("  sender \(index): \(call())")
        calls += 1
        world.check(.progress, calls < 10_000, "a sender's machine never stops")
        world.overtake(self)
        return try body()
    }

    // MARK: The socket

    func connect() -> SenderMachine.Attempt { perform("connect") { world.connect(self) } }

    func checkPeer() throws(Errno) -> SenderMachine.Peer {
        try perform("check peer") { () throws(Errno) in
            if let failure = world.connectFailure(socket) { throw failure }
            if world.isConnectedToItself(socket) { return .thisSide }
            world.monitor(self)
            return .admitted
        }
    }

    func writeToken(from offset: Int) throws(Errno) -> Transfer {
        try perform("write token from \(offset)") { () throws(Errno) in
            guard let tokens else { return .wouldBlock }
            return try world.send(socket, tokens.own[offset...])
        }
    }

    func read(into run: MemoryRun) throws(Errno) -> Transfer {
        try perform("read") { () throws(Errno) in
            // A machine that has broken a promise must not go on forever.
            guard world.violation == nil else { throw .reset }
            let transfer = try unsafe world.receive(socket, into: run, MemoryRun(start: nil, count: 0))
            if case .bytes(0, _) = transfer { sawEndAt = world.eventCount }
            return transfer
        }
    }

    func shutDownSending() {
        perform("shut down sending") {
            world.checkEndIsTold(self)
            world.shutdownSending(socket)
        }
    }

    func hasDelivered(isOrderly: Bool) -> Bool { isOrderly && lane.hasSent && !isToldOfDiscards }

    func closeSocket(_ loss: TransportError) {
        perform("close socket") {
            world.checkLossIsKnown(self)
            world.closeSocket(self, loss)
        }
    }

    func yield() {
        perform("yield") {
            world.executeAfterPoll(for: self) { [self] in world.change(self) { $0.continueTurn(self) } }
        }
    }

    func openLane(connection: Int) {
        isToldOfDiscards = false
        perform("open lane") { world.openLane(self, connection: connection) }
    }

    func lane(_ change: (inout SendLaneMachine) -> SendLaneMachine.Settlement?) -> SendLaneMachine.Progress {
        perform("change lane") { world.changeLane(self, change) }
    }

    // MARK: The program

    /// A caller that waits for an opening is told.
    func settle(_ waiter: Int, _ result: Result<Void, TransportError>) {
        perform("settle \(waiter): \(result)") { world.settle(waiter, result, of: self) }
    }

    func publish(_ state: SocketConnection.State) {
        perform("publish \(state)") { world.stateChanged(to: state, of: self) }
    }
    func publish(_ terms: ReceiverTerms) { perform("publish \(terms)") { world.termsChanged(to: terms, of: self) } }
    func publish(_ info: ControlRequest.SessionInfo) { perform("publish \(info)") { world.told(info, self) } }
    func deliver(_ request: ControlRequest) { perform("deliver \(request)") {} }
    func countSkippedRequest() { perform("count a skipped request") {} }
    func noteDiscarded() { perform("note that something is discarded") { isToldOfDiscards = true } }

    func end(_ reason: CloseReason) {
        perform("end: \(reason)") {
            world.check(.toldOnce, closeReason == nil, "the end is told twice")
            closeReason = reason
            world.senderEnded(self, reason)
        }
    }
}
