internal import FrameTransport

/// Paths and ports: binding, connecting, accepting.
extension World {
    /// Makes a socket; nil if the process has no descriptor left.
    func makeSocket(at place: Int, isOurs: Bool, capacity: Int) -> Int? {
        if isOurs, descriptors >= descriptorLimit {
            coverage.count(.descriptorShortage)
            hasMissedDescriptors = true
            return nil
        }
        return newSocket(isTCP: places[place].isPort, isOurs: isOurs, capacity: capacity)
    }

    private func newSocket(isTCP: Bool, isOurs: Bool, capacity: Int) -> Int {
        let random = Random(seed: seed, part: 1_000 + sockets.count)
        sockets.append(SimSocket(isTCP: isTCP, isOurs: isOurs, capacity: capacity, random: random))
        if isOurs { descriptors += 1 }
        return sockets.count - 1
    }

    /// Binds and listens; nil if somebody listens there.
    func listen(at place: Int, isOurs: Bool, backlog: Int) -> Int? {
        guard places[place].listener < 0, let socket = makeSocket(at: place, isOurs: isOurs, capacity: 0) else {
            return nil
        }
        sockets[socket].phase = .listening(place: place)
        sockets[socket].backlogLimit = backlog
        places[place].listener = socket
        return socket
    }

    /// Connects: to a path at once, to a port with `inProgress` and a report later.
    func connect(_ socket: Int, to place: Int) -> Errno? {
        let listener = places[place].listener
        if places[place].isPort {
            sockets[socket].phase = .connecting(place: place)
            let delay = sockets[socket].random.time(in: 10_000...400_000)
            if !places[place].hangs { schedule(after: delay) { [self] in concludeConnect(socket) } }
            return .inProgress
        }
        guard listener >= 0 else { return sockets[socket].random.chance(50) ? .noEntry : .refused }
        guard sockets[listener].backlog.count <= sockets[listener].backlogLimit else { return .again }
        join(socket, to: listener)
        return nil
    }

    /// A TCP connect comes to its result.
    func concludeConnect(_ socket: Int) {
        guard sockets[socket].isOpen, case .connecting(let place) = sockets[socket].phase else { return }
        let listener = places[place].listener
        if listener >= 0 {
            // With a full backlog the system drops the request, and tries again later.
            guard sockets[listener].backlog.count <= sockets[listener].backlogLimit else {
                return schedule(after: 1_000_000_000) { [self] in concludeConnect(socket) }
            }
            join(socket, to: listener)
        } else if places[place].isEphemeral, sockets[socket].random.chance(20) {
            coverage.count(.selfConnect)
            sockets[socket].phase = .connected
            sockets[socket].peer = socket
        } else {
            sockets[socket].phase = .failed(.refused)
        }
        changed(socket)
    }

    private func join(_ socket: Int, to listener: Int) {
        let accepted = newSocket(isTCP: sockets[socket].isTCP, isOurs: false, capacity: sockets[socket].capacity)
        sockets[accepted].phase = .connected
        sockets[accepted].peer = socket
        sockets[accepted].formerPeer = socket
        sockets[socket].formerPeer = accepted
        sockets[socket].phase = .connected
        sockets[socket].peer = accepted
        sockets[listener].backlog.append(accepted)
        changed(listener)
    }

    /// The result of a connect that was under way, as `SO_ERROR` gives it.
    func connectFailure(_ socket: Int) -> Errno? {
        if case .failed(let failure) = sockets[socket].phase { failure } else { nil }
    }

    /// Whether a TCP socket has met itself.
    func isConnectedToItself(_ socket: Int) -> Bool { sockets[socket].peer == socket }

    /// Takes the first connection that waits.
    func accept(_ listener: Int, isOurs: Bool) throws(Errno) -> Int {
        guard isUsable(listener) else { throw .aborted }
        guard let socket = sockets[listener].backlog.first else { throw .again }
        if isOurs, descriptors >= descriptorLimit {
            coverage.count(.descriptorShortage)
            hasMissedDescriptors = true
            throw .noDescriptors
        }
        sockets[listener].backlog.removeFirst()
        let peer = sockets[socket].peer
        if sockets[socket].isTCP, peer < 0 || !sockets[peer].isOpen, random.chance(30) {
            sockets[socket].isOpen = false
            dropInbound(socket)
            throw .aborted
        }
        sockets[socket].isOurs = isOurs
        if isOurs { descriptors += 1 }
        return socket
    }
}
