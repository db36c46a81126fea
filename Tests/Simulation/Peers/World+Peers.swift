internal import FrameTransport
internal import FrameWire

/// What programs that are not of this package do.
extension World {
    /// A socket of the peer has changed.
    func peerSocketChanged(_ peer: Int, _ socket: Int) {
        guard sockets[socket].isOpen else { return }
        sockets[socket].isReported = false
        if socket == peers[peer].listener { return acceptForPeer(peer) }
        guard socket == peers[peer].socket else { return }
        if peers[peer].isConnecting { peerDidConnect(peer) } else { stepPeer(peer) }
    }

    /// The peer reads and writes what it can.
    private func stepPeer(_ peer: Int) {
        guard peers[peer].socket >= 0 else { return }
        readForPeer(peer)
        if peers[peer].socket >= 0 { writeForPeer(peer) }
    }

    /// The peer pauses before it goes on.
    func pause(_ peer: Int, _ time: UInt64) {
        schedule(after: time) { [self] in
            peers[peer].isWaitingToRead = false
            stepPeer(peer)
        }
    }

    // MARK: Connecting

    /// A sender connects, if it is not connected.
    func connectPeer(_ peer: Int) {
        guard peers[peer].socket < 0, peers[peer].listener < 0 else { return }
        let place = peers[peer].place
        guard let socket = makeSocket(at: place, isOurs: false, capacity: peers[peer].socketCapacity) else { return }
        switch connect(socket, to: place) {
        case nil:
            peers[peer].socket = socket
            peerDidConnect(peer)
        case .inProgress?:
            peers[peer].socket = socket
            peers[peer].isConnecting = true
            sockets[socket].watchesRoom = true
            watch(socket, for: .peer(peer))
        case .some:
            close(socket)
        }
    }

    private func peerDidConnect(_ peer: Int) {
        let socket = peers[peer].socket
        if connectFailure(socket) != nil || isConnectedToItself(socket) {
            return endPeer(peer, reset: false)
        }
        if !peers[peer].isConnecting { watch(socket, for: .peer(peer)) }
        peers[peer].isConnecting = false
        sockets[socket].watchesRoom = true
        beginSending(peer)
    }

    /// A receiver listens, if nobody does.
    func listenPeer(_ peer: Int) {
        guard peers[peer].listener < 0 else { return }
        guard let listener = listen(at: peers[peer].place, isOurs: false, backlog: 8) else { return }
        peers[peer].listener = listener
        watch(listener, for: .peer(peer))
    }

    private func acceptForPeer(_ peer: Int) {
        // One connection at a time, as existing Jitsi receivers do; who comes meanwhile waits.
        guard peers[peer].socket < 0, let socket = try? accept(peers[peer].listener, isOurs: false) else { return }
        peers[peer].leaveConnection()
        peers[peer].socket = socket
        sockets[socket].capacity = peers[peer].socketCapacity
        sockets[socket].watchesRoom = true
        note("peer \(peer) accepts \(socket)")
        watch(socket, for: .peer(peer))
        beginReceiving(peer)
    }

    /// The peer ends its connection; a reset if it leaves something unread.
    func endPeer(_ peer: Int, reset: Bool) {
        let socket = peers[peer].socket
        guard socket >= 0 else { return }
        note("peer \(peer) ends \(socket)")
        if case .plainSender = peers[peer].role, !reset {
            sockets[socket].hasEndedInOrder = peers[peer].outgoing.isEmpty && peers[peer].tokenRemaining == 0
        }
        peers[peer].leaveConnection()
        if reset { breakOnClose(socket) } else { close(socket) }
        if peers[peer].listener >= 0 { acceptForPeer(peer) }
    }

    private func breakOnClose(_ socket: Int) {
        let peer = sockets[socket].peer
        if peer >= 0, sockets[peer].isOpen {
            sockets[peer].failure = .reset
            sockets[peer].wasBroken = true
            if !sockets[peer].isTCP { sockets[peer].inbound.show(.max / 2) }
            coverage.count(.reset)
        }
        close(socket)
    }

    /// A receiver stops listening.
    func stopListening(_ peer: Int) {
        guard peers[peer].listener >= 0 else { return }
        close(peers[peer].listener)
        peers[peer].listener = -1
    }

    // MARK: Writing

    /// Writes what is waiting, as far as there is room.
    func writeForPeer(_ peer: Int) {
        let socket = peers[peer].socket
        guard socket >= 0, !peers[peer].isConnecting, !sockets[socket].hasShutSending else { return }
        if peers[peer].written == peers[peer].outgoing.count { makeFlood(peer) }
        while peers[peer].socket == socket, peers[peer].written < peers[peer].outgoing.count {
            let left = peers[peer].outgoing.count - peers[peer].written
            let (size, pause) = peers[peer].nextWrite()
            let (passing, part) = nextPassing(peer, min(left, size))
            let start = peers[peer].written
            switch try? send(socket, peers[peer].outgoing[start..<start + part], passing: passing) {
            case .bytes(let count, let isShort)?:
                if !passing.isEmpty { peers[peer].sharing.passing.removeFirst() }
                peers[peer].written += count
                if peers[peer].written == peers[peer].outgoing.count {
                    (peers[peer].outgoing, peers[peer].written) = ([], 0)
                }
                if isShort { return }
                if let pause { return self.pause(peer, pause) }
            case .wouldBlock?:
                return
            case nil:
                return endPeer(peer, reset: false)
            }
            if peers[peer].written == peers[peer].outgoing.count { makeFlood(peer) }
        }
        if peers[peer].leavesWhenWritten, peers[peer].floodRemaining == 0 { endPeer(peer, reset: false) }
    }

    /// A plain sender takes up a frame, unless one is under way.
    func sendFrame(_ peer: Int, length: Int) {
        guard peers[peer].socket >= 0, !peers[peer].isConnecting, peers[peer].outgoing.isEmpty else { return }
        peers[peer].outgoing += peers[peer].nextFrame(length: length)
        writeForPeer(peer)
    }
}

extension ScriptedPeer {
    /// The bytes of another frame.
    mutating func nextFrame(length: Int) -> [UInt8] {
        lastNumber += 1
        let identity = Content.Identity(
            sender: identity,
            number: lastNumber,
            length: UInt32(length),
            content: lastNumber
        )
        return WireBytes.frameHeader(length: length, sequence: UInt64(lastNumber)) + Content.bytes(identity)
    }

    /// How much it writes next, and how long it pauses then.
    fileprivate mutating func nextWrite() -> (size: Int, pause: UInt64?) {
        switch role {
        case .hostileSender(.oneByteAtATime), .hostileReceiver(.oneByteAtATime): (1, 1_000_000_000)
        case .plainSender:
            (
                random.chance(50) ? .max : random.number(in: 1...10_240),
                random.chance(10) ? random.time(in: 1_000...3_000_000) : nil
            )
        default: (random.chance(80) ? .max : random.number(in: 1...512), nil)
        }
    }
}
