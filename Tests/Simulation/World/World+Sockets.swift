internal import FrameTransport

/// Reads, writes and ends, as Linux does them.
extension World {
    /// Reads into two runs of memory, one behind the other.
    func receive(
        _ socket: Int,
        into first: UnsafeMutableRawBufferPointer,
        _ second: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Transfer {
        guard isUsable(socket) else { throw .reset }
        turn.reads += 1
        arrivals.removeAll()
        let wanted = first.count + second.count
        guard sockets[socket].inbound.visible > 0 else { return try receiveNothing(socket) }
        let limit = sockets[socket].passed.isEmpty ? wanted : takeDescriptors(socket, wanted: wanted)
        var count = unsafe sockets[socket].inbound.read(into: first.beginning(limit))
        if count == first.count {
            count += unsafe sockets[socket].inbound.read(into: second.beginning(limit - count))
        }
        turn.bytes += count
        if let monitor = sockets[socket].monitor {
            let direct = min(count, first.count)
            unsafe monitorRead(monitor, UnsafeRawBufferPointer(rebasing: first[..<direct]))
            unsafe monitorRead(monitor, UnsafeRawBufferPointer(rebasing: second[..<(count - direct)]))
        }
        madeRoom(forPeerOf: socket)
        // A read also ends where a descriptor came: more may follow.
        return .bytes(count, isShort: count < wanted && arrivals.isEmpty)
    }

    private func receiveNothing(_ socket: Int) throws(Errno) -> Transfer {
        if let failure = sockets[socket].failure {
            sockets[socket].failure = nil
            sockets[socket].peerHasEnded = true
            throw failure
        }
        return sockets[socket].isAtEnd ? .bytes(0, isShort: true) : .wouldBlock
    }

    /// Writes as much as there is room for, and passes descriptors with the first byte.
    func send(
        _ socket: Int,
        _ bytes: ArraySlice<UInt8>,
        passing descriptors: [SharedMemory] = []
    ) throws(Errno) -> Transfer {
        try unsafe bytes.withUnsafeBytes { run in
            Result { () throws(Errno) in try unsafe send(socket, run, passing: descriptors) }
        }.get()
    }

    /// Writes as much of the runs as there is room for, and passes descriptors with the first byte.
    func send(
        _ socket: Int,
        _ first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0),
        _ third: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0),
        passing descriptors: [SharedMemory] = []
    ) throws(Errno) -> Transfer {
        guard isUsable(socket) else { throw .brokenPipe }
        if let failure = sockets[socket].failure {
            sockets[socket].failure = nil
            sockets[socket].peerHasEnded = true
            throw failure
        }
        guard !sockets[socket].hasShutSending, case .connected = sockets[socket].phase else {
            throw .brokenPipe
        }
        let peer = sockets[socket].peer
        let wanted = first.count + second.count + third.count
        guard peer >= 0, sockets[peer].isOpen else { return try sendToNobody(socket, wanted) }
        if sockets[peer].hasShutReceiving {
            guard sockets[socket].isTCP else { throw .brokenPipe }
            return .bytes(wanted, isShort: false)
        }
        let room = sockets[socket].capacity - sockets[peer].inbound.count
        guard room > 0 else {
            sockets[socket].isBlocked = true
            return .wouldBlock
        }
        var left = min(room, wanted)
        if !descriptors.isEmpty { pass(descriptors, with: left, from: socket, to: peer) }
        left -= unsafe write(first, from: socket, to: peer, atMost: left)
        left -= unsafe write(second, from: socket, to: peer, atMost: left)
        left -= unsafe write(third, from: socket, to: peer, atMost: left)
        let count = min(room, wanted)
        if count < wanted { sockets[socket].isBlocked = true }
        sent(to: peer)
        return .bytes(count, isShort: count < wanted)
    }

    private func write(_ run: UnsafeRawBufferPointer, from socket: Int, to peer: Int, atMost limit: Int) -> Int {
        let count = min(run.count, limit)
        guard count > 0 else { return 0 }
        let part = unsafe UnsafeRawBufferPointer(rebasing: run[..<count])
        unsafe sockets[peer].inbound.write(part)
        if let monitor = sockets[socket].monitor { unsafe monitorWrite(monitor, part) }
        return count
    }

    /// The other end is gone: a path says so at once, over TCP the first write is answered by a reset, which may come
    /// before the last that the other end wrote.
    private func sendToNobody(_ socket: Int, _ wanted: Int) throws(Errno) -> Transfer {
        guard sockets[socket].isTCP, !sockets[socket].isBlocked else { throw .brokenPipe }
        sockets[socket].isBlocked = true
        sockets[socket].wasBroken = true
        sockets[socket].failure = .reset
        changed(socket)
        return .bytes(wanted, isShort: false)
    }

    /// What was written becomes visible: at once, or in parts a little later.
    private func sent(to peer: Int) {
        let isTCP = sockets[peer].isTCP
        guard sockets[peer].hasArrivalScheduled || isTCP || sockets[peer].random.chance(25) else {
            sockets[peer].inbound.show(.max / 2)
            if sockets[peer].peer >= 0, !sockets[sockets[peer].peer].isOpen { peerHasGone(peer) }
            return changed(peer)
        }
        guard !sockets[peer].hasArrivalScheduled else { return }
        sockets[peer].hasArrivalScheduled = true
        let delay = sockets[peer].random.time(in: isTCP ? 5_000...150_000 : 500...30_000)
        schedule(after: delay) { [self] in arrive(peer) }
    }

    /// Some of what is on its way arrives.
    func arrive(_ socket: Int) {
        sockets[socket].hasArrivalScheduled = false
        guard sockets[socket].isOpen else { return }
        let hidden = sockets[socket].inbound.count - sockets[socket].inbound.visible
        if hidden > 1, sockets[socket].random.chance(40) {
            sockets[socket].inbound.show(sockets[socket].random.number(in: 1...hidden))
            sockets[socket].hasArrivalScheduled = true
            schedule(after: sockets[socket].random.time(in: 500...50_000)) { [self] in arrive(socket) }
        } else {
            sockets[socket].inbound.show(hidden)
        }
        if sockets[socket].peer >= 0, !sockets[sockets[socket].peer].isOpen { peerHasGone(socket) }
        changed(socket)
    }

    /// The reader has taken bytes: a writer that found no room hears of it.
    private func madeRoom(forPeerOf socket: Int) {
        let peer = sockets[socket].peer
        if peer >= 0 { sockets[peer].takenAt = now }
        guard peer >= 0, sockets[peer].isOpen, sockets[peer].isBlocked, sockets[peer].peer == socket else { return }
        sockets[peer].isBlocked = false
        if sockets[peer].watchesRoom { changed(peer) }
    }

    // MARK: Ends

    /// Says that nothing more will be written.
    func shutdownSending(_ socket: Int) {
        guard isUsable(socket), !sockets[socket].hasShutSending else { return }
        sockets[socket].hasShutSending = true
        let peer = sockets[socket].peer
        guard peer >= 0, sockets[peer].isOpen else { return }
        sockets[peer].peerHasEnded = true
        sent(to: peer)
    }

    /// Takes nothing more than what has arrived.
    func shutdownReceiving(_ socket: Int) {
        guard isUsable(socket) else { return }
        sockets[socket].hasShutReceiving = true
        dropInvisible(socket)
        changed(socket)
    }

    /// Closes a descriptor; the peer reads what was written and then the end, or a reset if something was left unread.
    func close(_ socket: Int) {
        guard isUsable(socket) else { return }
        sockets[socket].isOpen = false
        sockets[socket].watcher = .nobody
        if sockets[socket].isOurs { descriptors -= 1 }
        if case .listening(let place) = sockets[socket].phase {
            if places[place].listener == socket { places[place].listener = -1 }
            for index in sockets[socket].backlog.indices { reset(sockets[socket].backlog[index]) }
            sockets[socket].backlog.removeAll()
            return
        }
        let peer = sockets[socket].peer
        let hasUnread = sockets[socket].inbound.count > 0
        dropInbound(socket)
        guard peer >= 0, peer != socket, sockets[peer].isOpen, sockets[peer].peer == socket else { return }
        sockets[peer].peerHasEnded = true
        if hasUnread {
            coverage.count(.reset)
            if sockets[peer].isTCP { sockets[peer].wasBroken = true }
            sockets[peer].failure = .reset
            if sockets[peer].isTCP {
                dropInvisible(peer)
                // Linux keeps what had arrived; others lose that too.
                if random.chance(50) { dropInbound(peer) }
            } else {
                // Over a path the end never overtakes what was written before it.
                sockets[peer].inbound.show(.max / 2)
            }
            peerHasGone(peer)
            changed(peer)
        } else {
            sent(to: peer)
        }
    }

    /// Breaks a connection from below: both ends get a reset, and what is under way is lost.
    func breakConnection(_ socket: Int) {
        for end in [socket, sockets[socket].peer] where end >= 0 && sockets[end].isOpen {
            sockets[end].wasBroken = true
            sockets[end].failure = .reset
            dropInvisible(end)
            sockets[end].peer = -1
            changed(end)
        }
        coverage.count(.reset)
    }

    /// Closes the server's end of a connection that was never accepted.
    private func reset(_ socket: Int) {
        guard sockets[socket].isOpen else { return }
        sockets[socket].isOpen = false
        dropInbound(socket)
        let peer = sockets[socket].peer
        guard peer >= 0, sockets[peer].isOpen else { return }
        sockets[peer].failure = .reset
        sockets[peer].peerHasEnded = true
        dropInvisible(peer)
        changed(peer)
    }

    /// Whether a call makes sense; one on a descriptor that is closed would hit somebody else's.
    func isUsable(_ socket: Int) -> Bool {
        let isOpen = sockets.indices.contains(socket) && sockets[socket].isOpen
        check(.descriptorUsedAfterClose, isOpen, "a call on the closed socket \(socket)")
        return isOpen
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The first bytes, at most so many.
    fileprivate func beginning(_ limit: Int) -> UnsafeMutableRawBufferPointer {
        limit >= count ? unsafe self : unsafe UnsafeMutableRawBufferPointer(rebasing: self[..<Swift.max(0, limit)])
    }
}
