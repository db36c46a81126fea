// The execution of commands.

extension ConnectingDriver {
    func execute(_ command: SenderMachine.Command) {
        switch command {
        case .connect: connect()
        case .checkConnected: checkConnected()
        case .checkPeer: checkPeer()
        case .writeToken(let offset): writeToken(from: offset)
        case .read(let limit): read(limit)
        case .shutdownSending: if let socket { Syscalls.shutdownSending(socket) }
        case .watchRoom(let watches): registration?.watchesRoom = watches
        case .setDeadline(let deadline): setDeadline(deadline)
        case .closeSocket(let loss): closeSocket(loss)
        case .lane(.open(let connection, let wants)):
            if let descriptor = descriptor.take() { lane.open(descriptor, connection: connection, wants: wants) }
        case .lane(let order):
            let progress = lane.execute(order)
            answer { $0.laneProgressed(progress, at: $1) }
        case .settle(let id, let error):
            openings.removeValue(forKey: id)?.settle(error.map { .failure($0) } ?? .success(()))
        case .tell(let news): tell(news)
        case .continueLater: thread.executeAfterPoll { self.report { $0.continueTurn(at: $1) } }
        }
    }

    private func tell(_ news: SenderMachine.News) {
        switch news {
        case .state(let state):
            report(state, after: states.value)
            states.change(to: state)
        case .terms(let terms):
            self.terms.publish(terms)
            demand.change(to: terms.demand)
        case .hello(let hello): control.note(hello)
        case .info(let info): self.info.change(to: info)
        case .request(let request): control.note(request)
        case .skippedRequest: control.skip()
        case .ended(let reason):
            timer?.cancel()
            timer = nil
            states.end()
            demand.end()
            info.end()
            control.requests.end()
            closed.set(reason)
        }
    }

    // MARK: Logging

    /// Reports a change of the connection's state to the log.
    private func report(_ state: SocketConnection.State, after old: SocketConnection.State) {
        guard let log else { return }
        let reason: CloseReason?
        switch state {
        case .connected:
            lastFailure = nil
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
    private func reportAttempt(_ message: @autoclosure () -> String, error: TransportError? = nil) {
        guard let log else { return }
        let message = message()
        guard message != lastFailure else { return }
        lastFailure = message
        log.report(
            TransportEvent(.info, .attemptFailed, message, endpoint: endpoint.description, error: error)
        )
    }

    // MARK: Connecting

    private func connect() {
        let address: SocketAddress
        do {
            try thread.checkRunning()
            try endpoint.check(configuration.tokens)
            address = try SocketAddress(endpoint)
        } catch {
            return answer { $0.endpointIsUnusable(error, at: $1) }
        }
        do throws(Errno) {
            // A new descriptor for every attempt: after a failed connect its state is undefined.
            let descriptor = try Syscalls.makeSocket(for: address)
            let socket = descriptor.rawValue
            let isConnected = try Self.connect(socket, to: address)
            registration = try thread.register(socket, self)
            self.socket = socket
            self.descriptor = consume descriptor
            if isConnected { answer { $0.connected(at: $1) } }
        } catch {
            reportAttempt("no server was reached: \(error)")
            answer { $0.connectFailed(error, at: $1) }
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

    private func checkConnected() {
        guard let socket else { return }
        do {
            try Syscalls.checkConnected(socket)
        } catch {
            reportAttempt("no server was reached: \(error)")
            return answer { $0.connectFailed(error, at: $1) }
        }
        answer { $0.connected(at: $1) }
    }

    private func checkPeer() {
        guard let socket else { return }
        switch endpoint {
        case .path(let path):
            do {
                _ = try configuration.peers.admit(socket, at: path)
            } catch {
                return answer { $0.peerRefused(error, at: $1) }
            }
        case .loopback:
            if Syscalls.isConnectedToItself(socket) {
                Syscalls.abortWhenClosed(socket)
                return answer { $0.peerIsThisSide(at: $1) }
            }
        }
        answer { $0.peerAdmitted(at: $1) }
    }

    private func writeToken(from offset: Int) {
        guard let socket, let token = configuration.tokens?.own else { return }
        do throws(Errno) {
            switch try Syscalls.send(to: socket, token.dropFirst(offset)) {
            case .bytes(let count, _): answer { $0.didWriteToken(count, at: $1) }
            case .wouldBlock: answer { $0.didWriteToken(0, at: $1) }
            }
        } catch {
            answer { $0.tokenWriteFailed(error, at: $1) }
        }
    }

    // MARK: With a socket

    private func read(_ limit: Int) {
        guard let socket else { return }
        unsafe withUnsafeTemporaryAllocation(byteCount: limit, alignment: 16) { memory in
            do throws(Errno) {
                switch try unsafe Syscalls.receive(from: socket, into: memory) {
                case .bytes(0, _): answer { $0.reachedEndOfStream(at: $1) }
                case .bytes(let count, _):
                    let bytes = unsafe UnsafeRawBufferPointer(rebasing: memory[..<count])
                    answer { $0.didRead(unsafe Span<UInt8>(_unsafeBytes: bytes), at: $1) }
                case .wouldBlock: answer { $0.readWouldBlock(at: $1) }
                }
            } catch {
                answer { $0.readFailed(error, at: $1) }
            }
        }
    }

    private func closeSocket(_ loss: TransportError) {
        registration?.cancel()
        registration = nil
        socket = nil
        descriptor = nil
        lane.close(loss)
    }

    private func setDeadline(_ deadline: UInt64?) {
        if timer == nil, deadline != nil { timer = thread.registerTimer(self) }
        timer?.deadline = deadline
    }
}
