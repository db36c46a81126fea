internal import FrameTransport
internal import FrameWire

/// How scripted peers read: a receiver checks what comes, a sender throws it away.
extension World {
    /// Reads what is there, as far and as fast as this peer reads.
    func readForPeer(_ peer: Int) {
        guard !peers[peer].readsNothing || peers[peer].tokenRemaining > 0 else { return }
        if case .plainSender(reads: false) = peers[peer].role, peers[peer].tokenRemaining == 0 { return }
        while peers[peer].socket >= 0, !peers[peer].isWaitingToRead {
            let socket = peers[peer].socket
            let size = peers[peer].tokenRemaining > 0 ? peers[peer].tokenRemaining : peers[peer].readSize
            switch try? unsafe receive(socket, into: scratch(size), MemoryRun(start: nil, count: 0)) {
            case .bytes(0, _)?: return peerSawEnd(peer)
            case .bytes(let count, _)?: take(count, for: peer)
            case .wouldBlock?: return
            case nil: return endPeer(peer, reset: false)
            }
            if peers[peer].socket >= 0, peers[peer].readPause > 0 {
                peers[peer].isWaitingToRead = true
                events.schedule(.peer, peer, -1, at: now + peers[peer].readPause)
            }
        }
    }

    private func peerSawEnd(_ peer: Int) {
        if case .plainReceiver = peers[peer].role, peers[peer].header != nil || peers[peer].decoder.isInHeader {
            coverage.count(.halfClose)
        }
        endPeer(peer, reset: false)
    }

    private func take(_ count: Int, for peer: Int) {
        if peers[peer].tokenRemaining > 0 {
            peers[peer].tokenRemaining -= count
            if peers[peer].tokenRemaining == 0 { handshakeIsOver(peer) }
            return
        }
        guard case .plainReceiver = peers[peer].role else { return }
        var offset = 0
        while offset < count {
            let step: FrameMessageDecoder.Step
            do {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: scratch[offset..<count])
                step = try unsafe peers[peer].decoder.decode(Span(_unsafeBytes: rest))
            } catch {
                guard isFromOurs(peer) else { return endPeer(peer, reset: false) }
                return violate(.order, "a plain receiver got what is no frame message: \(error)")
            }
            switch step.event {
            case .incomplete: break
            case .message(.frame(let header)): peers[peer].header = header
            case .message:
                guard isFromOurs(peer) else { break }
                violate(.order, "a plain receiver, which said nothing, got a message that is not a frame")
            case .body(let isLast):
                unsafe peers[peer].body.append(contentsOf: scratch[offset..<offset + step.consumed])
                if isLast { completeFrame(for: peer) }
            }
            offset += step.consumed
        }
    }

    /// Whether a sender of this package is at the other end, which keeps to the format.
    private func isFromOurs(_ peer: Int) -> Bool {
        let other = sockets[peers[peer].socket].peer
        return other >= 0 && sockets[other].isOurs
    }

    private func identifyBody(of peer: Int) -> Content.Identity? {
        let body = peers[peer].body
        return Content.identify(body.span)
    }

    private func completeFrame(for peer: Int) {
        guard let header = peers[peer].header else { return }
        peers[peer].header = nil
        let identity = identifyBody(of: peer)
        peers[peer].body.removeAll(keepingCapacity: true)
        guard let identity else {
            if isFromOurs(peer) { violate(.integrity, "a plain receiver got a body that nobody sent") }
            return
        }
        received(identity, header, by: peer)
    }
}
