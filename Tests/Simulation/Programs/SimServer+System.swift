internal import FrameTransport
internal import FrameWire

/// What a listener's machine calls: the simulated socket, connections and program.
extension SimServer: ListenerMachine.System {
    var now: UInt64 { world.now }

    private func note(_ call: @autoclosure () -> String) {
        world.note("  server \(index): \(call())")
        world.check(.toldOnce, !isFinished, "a server that has ended goes on")
    }

    func count(_: (inout FrameServer.Statistics) -> Void) {}

    // MARK: Accepting

    func accept() throws(Errno) -> Bool? {
        note("accept")
        guard socket >= 0 else { return nil }
        world.turn.accepts += 1
        accepted = try world.accept(socket, isOurs: true)
        return true
    }

    func admit(_ id: Int) {
        note("admit \(id)")
        let socket = accepted
        accepted = -1
        guard socket >= 0 else { return world.violate(.order, "a connection is admitted that was not accepted") }
        let receiver = SimReceiver(world, server: self, id: id, socket: socket)
        world.receivers.append(receiver)
        connections[id] = receiver.index
        world.sockets[socket].capacity = receiver.requestCapacity
        let begin = { [world] in world.begin(receiver) }
        if receiver.thread == thread { begin() } else { world.execute(for: receiver, begin) }
        checkPlaces()
    }

    private func checkPlaces() {
        // On another thread a connection may have ended without the server's knowing yet.
        let connected = connections.values.map { world.receivers[$0] }.filter { $0.closeReason == nil }
        let staying = connected.filter { $0.place != .revoked }
        let handshakes = tokens == nil ? Int.max : max(1, limits.maximumHandshakes)
        let handshaking = staying.count { !$0.isPresented }
        world.check(
            .placesAreBounded,
            handshaking <= handshakes,
            "\(handshaking) connections have yet to show their token"
        )
        let leaving = connected.count - staying.count
        world.check(
            .placesAreBounded,
            leaving <= handshakes,
            "\(leaving) connections have made way, and are still there"
        )
        let places = limits.maximumConnections
        world.check(.placesAreBounded, staying.count <= places, "\(staying.count) connections, \(places) places")
    }

    func turnAway(for reason: FrameServer.Statistics.Refusal) {
        note("turn away for \(reason)")
        world.coverage.count(.refusedConnection)
        if accepted >= 0 { world.close(accepted) }
        accepted = -1
    }

    func makeWay(_ id: Int) -> Bool {
        note("make way \(id)")
        guard let receiver = connections[id].map({ world.receivers[$0] }), receiver.place == .revocable else {
            world.coverage.count(.placeWasKept)
            return false
        }
        world.coverage.count(.handshakeGaveWay)
        receiver.place = .revoked
        world.execute(for: receiver) { [world] in world.giveWay(receiver) }
        return true
    }

    func paused(_ error: Errno) { note("pause: \(error)") }

    func yield() {
        note("yield")
        world.executeAfterPoll(for: self) { [self] in world.change(self) { $0.resume() } }
    }

    // MARK: Ending

    func stopListening() {
        note("stop listening")
        if registration >= 0 { world.cancel(registration, on: thread) }
        if timer >= 0 { world.cancel(timer, on: thread) }
        (registration, timer) = (-1, -1)
        world.stopListening(self)
        world.budgets[plan.budget].machine.close(places: limits.maximumConnections)
    }

    func endPresenting(_ error: TransportError?) {
        note("end presenting")
        for waiter in arrivals.mailbox.end(error) { world.wakeConnectionConsumer(self, waiter) }
    }

    func closeConnections() {
        note("close all")
        for index in connections.values.sorted() { world.close(world.receivers[index], nil) }
    }

    func drainConnections() {
        note("drain all")
        for index in connections.values.sorted() { world.drain(world.receivers[index]) }
    }

    func dropDeparted(beyond count: Int) {
        note("drop departed senders beyond \(count)")
        let dropped = arrivals.mailbox.removeFirst(beyond: count) { world.receivers[$0].closeReason != nil }
        guard let dropped else { return }
        world.coverage.count(.departedSenderDropped)
        world.letGo(world.receivers[dropped])
    }

    func finish() {
        note("finish")
        isFinished = true
    }
}
