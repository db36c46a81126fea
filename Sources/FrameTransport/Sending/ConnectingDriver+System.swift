internal import FrameWire
internal import Locking

/// What a sender's machine calls.
extension ConnectingDriver: SenderMachine.System {
    var now: UInt64 { MonotonicClock.now() }

    // MARK: Connecting

    func connect() -> SenderMachine.Attempt {
        let address: SocketAddress
        do {
            try thread.checkRunning()
            try endpoint.check(configuration.tokens)
            address = try SocketAddress(endpoint)
        } catch {
            return .unusable(error)
        }
        do throws(Errno) {
            // A new descriptor for every attempt: after a failed connect its state is undefined.
            let descriptor = try Syscalls.makeSocket(for: address)
            let socket = descriptor.rawValue
            let isConnected = try Self.connect(socket, to: address)
            registration = try thread.register(socket, self)
            self.socket = socket
            self.descriptor = consume descriptor
            return isConnected ? .connected : .pending
        } catch {
            reportAttempt("no server was reached: \(error)")
            return .failed(error)
        }
    }

    /// Connects, and returns whether the connection is made at once, as is always the case over a path.
    private static func connect(_ socket: Int32, to address: SocketAddress) throws(Errno) -> Bool {
        do {
            try Syscalls.connectSocket(socket, to: address)
            return true
        } catch .inProgress {
            return false
        }
    }

    func checkConnected() throws(Errno) {
        guard let socket else { return }
        do {
            try Syscalls.checkConnected(socket)
        } catch {
            reportAttempt("no server was reached: \(error)")
            throw error
        }
    }

    func checkPeer() -> SenderMachine.Peer {
        guard let socket else { return .thisSide }
        switch endpoint {
        case .path(let path):
            peer.withLock { $0 = try? Syscalls.peer(of: socket) }
            do {
                try configuration.peers.admit(socket, at: path)
            } catch {
                return .refused(error)
            }
        case .loopback:
            if Syscalls.isConnectedToItself(socket) {
                Syscalls.abortWhenClosed(socket)
                return .thisSide
            }
        }
        return .admitted
    }

    func writeToken(from offset: Int) throws(Errno) -> Transfer {
        guard let socket, let token = configuration.tokens?.own else { return .wouldBlock }
        return try Syscalls.send(to: socket, token.dropFirst(offset))
    }

    // MARK: With a socket

    func read(into run: MemoryRun) throws(Errno) -> Transfer {
        guard let socket else { return .wouldBlock }
        return try unsafe Syscalls.receive(from: socket, into: run)
    }

    func shutDownSending() { if let socket { Syscalls.shutdownSending(socket) } }

    func hasDelivered(isOrderly: Bool) -> Bool {
        guard let socket, let delivery = lane.delivery, delivery.hasSent else { return false }
        // Of what a connection that has failed had sent, the system tells only how much it can hold.
        if delivery.bytesWritten > Syscalls.sendBuffer(of: socket) { return true }
        let isDiscarded = discarding.withLock { $0 } == delivery.connection
        return isOrderly && !isDiscarded && delivery.backlog?.unreadByteCount ?? 0 == 0
    }

    func closeSocket(_ loss: TransportError) {
        leftUnread = lane.delivery?.backlog.map { $0.unreadByteCount > 0 } ?? false
        registration?.cancel()
        registration = nil
        socket = nil
        descriptor = nil
        lane.close(loss)
    }

    func yield() { thread.executeAfterPoll { self.change { $0.continueTurn(self) } } }

    func openLane(connection: Int) {
        if let descriptor = descriptor.take() { lane.open(descriptor, connection: connection) }
    }

    func lane(_ change: (inout SendLaneMachine) -> SendLaneMachine.Settlement?) -> SendLaneMachine.Progress {
        lane.advance(change)
    }

    // MARK: What others are told

    func settle(_ waiter: Int, _ error: TransportError?) {
        openings.removeValue(forKey: waiter)?.settle(error.map { .failure($0) } ?? .success(()))
    }

    func publish(_ state: SocketConnection.State) {
        report(state, after: states.value)
        if let reason = state.closeReason { lastEnd.withLock { $0 = (terms.value.connection, reason, leftUnread) } }
        states.change(to: state)
    }

    func publish(_ terms: ReceiverTerms) {
        self.terms.change(to: terms)
        demand.change(to: terms.demand)
    }

    func publish(_ info: ControlRequest.SessionInfo) { self.info.change(to: info) }
    func note(_ hello: ControlRequest.Hello?) { control.note(hello) }
    func deliver(_ request: ControlRequest) { control.note(request) }
    func countSkippedRequest() { control.skip() }
    func noteDiscarded() { discarding.withLock { $0 = terms.value.connection } }

    func end(_ reason: CloseReason) {
        timer?.cancel()
        timer = nil
        states.end()
        demand.end()
        info.end()
        control.requests.end()
        closed.set(reason)
    }

    // MARK: Logging

    /// Reports a change of the connection's state to the log.
    private func report(_ state: SocketConnection.State, after old: SocketConnection.State) {
        guard let log else { return }
        let reason: CloseReason?
        switch state {
        case .connected:
            log.forgetCause(of: .attemptFailed)
            reason = nil
        case .started where old == .handshaking:
            return reportAttempt(
                "the server ended the exchange of tokens, or sent no token; do both ends have the same?"
            )
        case .disconnected(let end), .ended(let end):
            // The end of a session is reported once.
            guard old != .disconnected(end) else { return }
            reason = end
        case .idle, .started, .handshaking: return
        }
        let code: TransportEvent.Code =
            if let reason { reason.error == nil ? .connectionEnded : .connectionFailed } else { .connectionOpened }
        log.report(
            TransportEvent(
                reason?.error == nil ? .info : .warning,
                code,
                reason?.description ?? "connected",
                endpoint: endpoint.description,
                error: reason?.error
            )
        )
    }

    /// Reports a failed attempt to connect, unless the one before it failed for the same reason.
    private func reportAttempt(_ message: @autoclosure () -> String) {
        guard let log else { return }
        let event = TransportEvent(.info, .attemptFailed, message(), endpoint: endpoint.description)
        log.report(event, isRepeated: true)
    }
}
