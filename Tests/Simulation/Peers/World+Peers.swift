internal import FrameTransport
internal import FrameWire

/// What programs that are not of this package do.
extension World {
    /// Adds a peer to the history.
    func addPeer(_ peer: ScriptedPeer) -> Int {
        let index = peerCount
        peerCount += 1
        if index < peers.count { peers[index] = peer } else { peers.append(peer) }
        peers[index].random = Random(seed: seed, part: 500 + index)
        return index
    }

    /// A socket of the peer has changed, or its own time has come (`socket` is -1 then, and -2
    /// for the next frame of a plain sender).
    func stepPeer(_ peer: Int, _ socket: Int) {
        if socket >= 0 {
            guard sockets[socket].isOpen else { return }
            sockets[socket].isReported = false
            if socket == peers[peer].listener { return acceptForPeer(peer) }
            guard socket == peers[peer].socket else { return }
            if peers[peer].isConnecting { return peerDidConnect(peer) }
        } else if socket == -2 {
            if !peers[peer].framesToSend.isEmpty { sendFrame(peer, length: peers[peer].framesToSend.removeFirst()) }
            return
        } else {
            peers[peer].isWaitingToRead = false
        }
        guard peers[peer].socket >= 0 else { return }
        readForPeer(peer)
        if peers[peer].socket >= 0 { writeForPeer(peer) }
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
        if peers[peer].isConnecting == false { watch(socket, for: .peer(peer)) }
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
            let (passing, part) = nextPassing(peer, min(left, peers[peer].writeSize))
            let start = peers[peer].written
            switch try? send(socket, peers[peer].outgoing[start..<start + part], passing: passing) {
            case .bytes(let count, let isShort)?:
                if !passing.isEmpty { passed(peer) }
                peers[peer].written += count
                noteFramesWritten(peer)
                if isShort { return }
                if peers[peer].pausesWriting {
                    return events.schedule(.peer, peer, -1, at: now + peers[peer].writePause)
                }
            case .wouldBlock?:
                return
            case nil:
                return endPeer(peer, reset: false)
            }
            if peers[peer].written == peers[peer].outgoing.count { makeFlood(peer) }
        }
        if peers[peer].leavesWhenWritten, peers[peer].floodRemaining == 0 { endPeer(peer, reset: false) }
    }

    private func noteFramesWritten(_ peer: Int) {
        while let first = peers[peer].frameEnds.first, first.end <= peers[peer].written {
            peers[peer].frameEnds.removeFirst()
        }
        guard peers[peer].written == peers[peer].outgoing.count else { return }
        peers[peer].outgoing.removeAll(keepingCapacity: true)
        peers[peer].frameEnds.removeAll(keepingCapacity: true)
        peers[peer].written = 0
    }

    /// A plain sender takes up a frame, unless one is under way.
    func sendFrame(_ peer: Int, length: Int) {
        guard peers[peer].socket >= 0, !peers[peer].isConnecting, peers[peer].outgoing.isEmpty else { return }
        peers[peer].lastNumber += 1
        let number = peers[peer].lastNumber
        peers[peer].outgoing += WireBytes.frameHeader(length: length, sequence: UInt64(number))
        let identity = Content.Identity(
            sender: peers[peer].identity,
            number: number,
            length: UInt32(length),
            content: number
        )
        Content.append(identity, to: &peers[peer].outgoing)
        peers[peer].frameEnds.append((peers[peer].outgoing.count, number))
        writeForPeer(peer)
    }
}

extension ScriptedPeer {
    fileprivate var writeSize: Int {
        mutating get {
            switch role {
            case .hostileSender(.oneByteAtATime), .hostileReceiver(.oneByteAtATime): 1
            case .plainSender: random.chance(50) ? .max : random.number(in: 1...10_240)
            default: random.chance(80) ? .max : random.number(in: 1...512)
            }
        }
    }

    fileprivate var pausesWriting: Bool {
        mutating get {
            switch role {
            case .hostileSender(.oneByteAtATime), .hostileReceiver(.oneByteAtATime): true
            case .plainSender: random.chance(10)
            default: false
            }
        }
    }

    fileprivate var writePause: UInt64 {
        mutating get {
            switch role {
            case .plainSender: random.time(in: 1_000...3_000_000)
            default: 1_000_000_000
            }
        }
    }
}
