internal import FrameTransport

/// Changes of sockets, and who hears of them: one report for each change, as an edge-triggered poller gives it.
extension World {
    /// Starts to report changes of a socket; what it is ready for already is the first one.
    func watch(_ socket: Int, for watcher: SocketWatcher) {
        sockets[socket].watcher = watcher
        sockets[socket].isReported = false
        if !readiness(of: socket).isEmpty { changed(socket) }
    }

    /// Who hears of a socket's changes on an I/O thread.
    func owner(of socket: Int) -> (any Owner)? {
        guard case .thread(let thread, let registration) = sockets[socket].watcher else { return nil }
        return threads[thread].registrations[registration].owner
    }

    /// Stops the reports.
    func unwatch(_ socket: Int) {
        guard sockets[socket].isOpen else { return }
        sockets[socket].watcher = .nobody
        sockets[socket].watchesRoom = false
    }

    /// Reports room to write too, or no more; like any change of what is watched this reports what is ready now.
    func watchRoom(_ socket: Int, _ watches: Bool) {
        guard sockets[socket].isOpen, sockets[socket].watchesRoom != watches else { return }
        sockets[socket].watchesRoom = watches
        if !readiness(of: socket).isEmpty { changed(socket) }
    }

    /// A socket has changed.
    func changed(_ socket: Int) {
        guard sockets[socket].isOpen, !sockets[socket].isReported else { return }
        switch sockets[socket].watcher {
        case .nobody:
            break
        case .peer(let peer):
            sockets[socket].isReported = true
            schedule(after: random.time(in: 1_000...60_000)) { [self] in peerSocketChanged(peer, socket) }
        case .thread(let thread, _):
            sockets[socket].isReported = true
            sockets[socket].reportedAt = now
            threads[thread].changed.append(socket)
            wake(thread)
        }
    }

    /// What a socket is ready for now, of what is watched.
    func readiness(of socket: Int) -> Readiness {
        var result: Readiness = []
        let state = sockets[socket].phase
        if case .listening = state { return sockets[socket].backlog.isEmpty ? [] : .readable }
        if case .failed = state { return [.readable, .writable, .hangup] }
        guard case .connected = state else { return [] }
        if sockets[socket].inbound.visible > 0 { result.insert(.readable) }
        let isOver = sockets[socket].inbound.count == sockets[socket].inbound.visible && sockets[socket].peerHasEnded
        if isOver || sockets[socket].failure != nil || sockets[socket].hasShutReceiving {
            result.formUnion([.readable, .hangup])
        }
        if sockets[socket].watchesRoom, hasRoom(socket) { result.insert(.writable) }
        return result
    }

    private func hasRoom(_ socket: Int) -> Bool {
        let peer = sockets[socket].peer
        guard peer >= 0, sockets[peer].isOpen, sockets[socket].failure == nil else { return true }
        return sockets[peer].inbound.count < sockets[socket].capacity
    }

    /// Changes how much the peer may leave unread.
    func setCapacity(_ socket: Int, _ bytes: Int) {
        guard sockets[socket].isOpen, bytes > sockets[socket].capacity else { return }
        sockets[socket].capacity = bytes
        if sockets[socket].watchesRoom { changed(socket) }
    }
}
