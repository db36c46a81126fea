internal import FrameTransport
internal import FrameWire

/// How scripted peers read: they throw it away, since a monitor follows what this package's senders write.
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
                pause(peer, peers[peer].readPause)
            }
        }
    }

    private func peerSawEnd(_ peer: Int) {
        let sender = sockets[peers[peer].socket].formerPeer
        if sender >= 0, let monitor = sockets[sender].monitor, !monitor.isBetweenMessages {
            coverage.count(.halfClose)
        }
        endPeer(peer, reset: false)
    }

    private func take(_ count: Int, for peer: Int) {
        guard peers[peer].tokenRemaining > 0 else { return }
        peers[peer].tokenRemaining -= count
        if peers[peer].tokenRemaining == 0 { handshakeIsOver(peer) }
    }
}
