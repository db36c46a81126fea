internal import Locking

/// What the machine calls, on the server's thread.
extension ListeningDriver: ListenerMachine.System {
    var now: UInt64 { MonotonicClock.now() }

    // MARK: Accepting

    func accept() throws(Errno) -> Bool? {
        let descriptor = try socket.withLock { socket throws(Errno) -> OwnedDescriptor? in
            guard let listener = socket?.rawValue else { return nil }
            return try Syscalls.accept(from: listener)
        }
        guard let descriptor else { return nil }
        return keep(descriptor)
    }

    /// Keeps a connection that was accepted, and returns whether its user may connect.
    func keep(_ descriptor: consuming OwnedDescriptor) -> Bool {
        let raw = descriptor.rawValue
        accepted = consume descriptor
        // Over TCP the system identifies no peers, and any peer with the right token may connect.
        (acceptedPeer, refusal) = (nil, nil)
        do throws(TransportError) {
            if let path { acceptedPeer = try configuration.peers.admit(raw, at: path) }
        } catch {
            (acceptedPeer, refusal) = (try? Syscalls.peer(of: raw), error)
        }
        return refusal == nil
    }

    func turnAway(for reason: FrameServer.Statistics.Refusal) {
        accepted = nil
        if let refusal = refusal.take() {
            let text = "a sender was refused: \(refusal.message)"
            report(.warning, .refusedForUser, text, peer: acceptedPeer, error: refusal)
        } else {
            let places = configuration.limits.maximumConnections
            let taken = places == 1 ? "the only slot is taken" : "all \(places) slots are taken"
            let text = "a sender was refused: \(taken); it can connect once another sender has left"
            report(.warning, .refusedForPlace, text, peer: acceptedPeer)
        }
    }

    func makeWay(_ id: Int) -> Bool {
        guard let connection = connections.withLock({ $0[id] }), connection.decide(keepsPlace: false) else {
            return false
        }
        order(connection) { $0.giveWay() }
        return true
    }

    func paused(_ error: Errno) {
        report(.error, .acceptPaused, "no sender is accepted for a while, because the system is short: \(error)")
    }

    func yield() {
        thread.executeAfterPoll { self.change { $0.resume() } }
    }

    func admit(_ id: Int) {
        guard let descriptor = accepted.take() else { return }
        let peer = acceptedPeer
        let readers = configuration.readers
        let reader = readers.isEmpty ? thread : readers[id % readers.count]
        let driver = ReceivingDriver(
            descriptor,
            id: id,
            thread: reader,
            configuration: configuration,
            counts: received,
            onUndecodable: { [log, endpoint] index in
                let text = "frame \(index) could not be decoded"
                log?.report(
                    TransportEvent(.warning, .frameDropped, text, endpoint: endpoint, connection: id, peer: peer)
                )
            },
            onDiscarded: { [log, endpoint] frames, bytes in
                log?.report(.discarded(frames: frames, bytes: bytes, id, peer, at: endpoint))
            }
        )
        connections.withLock { $0[id] = driver }
        let (log, endpoint, mailbox) = (log, endpoint, mailbox)
        let onReady = { @Sendable [weak self] () -> Void in
            log?.report(.opened(id, peer, at: endpoint))
            let connection = FrameConnection(id: id, peer: peer, driver: driver)
            self?.onThread {
                $0.tokenShown(id)
                $0.queued(id, $1)
            }
            mailbox.put(connection)
        }
        let onClosed = { @Sendable [weak self] (wasReady: Bool) -> Void in
            if let reason = driver.closed.value {
                log?.report(.ended(id, peer, at: endpoint, reason, wasReady: wasReady))
            }
            self?.onThread { machine, listener in
                listener.received.superseded.add(driver.mailbox.replaced)
                listener.connections.withLock { $0[id] = nil }
                machine.ended(id, wasReady: wasReady, listener)
            }
        }
        let onDropped = { @Sendable [weak self] () -> Void in
            let text = "the sender has left, and its unread frames were dropped because their memory was needed"
            log?.report(
                TransportEvent(.warning, .departedSenderDropped, text, endpoint: endpoint, connection: id, peer: peer)
            )
            self?.onThread { $0.framesDropped(id, $1) }
        }
        let start = { @Sendable [weak self] () -> Void in
            driver.start(onReady: onReady, onClosed: onClosed, onDropped: onDropped)
            self?.onThread { $0.started(id, $1) }
        }
        if reader.isCurrent { start() } else { reader.execute(start) }
    }

    // MARK: Ending

    func stopListening() {
        release()
        stopCheckingPath()
        registration?.cancel(isClosed: true)
        registration = nil
        configuration.memory.close(places: configuration.limits.maximumConnections)
    }

    func endPresenting(_ error: TransportError?) {
        if let error { report(.error, .serverFailed, error.message, error: error) }
        mailbox.end(error)
    }

    func closeConnections() { forEachConnection { $0.close() } }
    func drainConnections() { forEachConnection { $0.drain() } }

    private func forEachConnection(_ call: @escaping @Sendable (ReceivingDriver) -> Void) {
        for connection in connections.withLock({ Array($0.values) }) { order(connection, call) }
    }

    /// Calls a connection on its thread, later: it may just be telling this server something.
    private func order(_ connection: ReceivingDriver, _ call: @escaping @Sendable (ReceivingDriver) -> Void) {
        connection.thread.execute { call(connection) }
    }

    func dropDeparted(_ id: Int) -> Bool {
        // Released outside the mailbox's lock: its deinitializer closes it.
        guard let dropped = mailbox.removeFirst(where: { $0.id == id }) else { return false }
        let text = "the sender has left, and was dropped with its unread frames because too many had left before"
        let error = TransportError(.departedSenderDropped, text)
        report(.warning, .departedSenderDropped, text, connection: id, peer: dropped.peer, error: error)
        return true
    }

    func finish() { closed.set(()) }
}
