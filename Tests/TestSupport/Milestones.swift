package import FrameTransport

/// The openings and ends of a connection, in order: its states without those on the way to a server.
package struct Milestones {
    private var states: AsyncStream<SocketConnection.State>.Iterator

    fileprivate init(_ states: AsyncStream<SocketConnection.State>) {
        self.states = states.makeAsyncIterator()
    }

    /// The next opening or end; nil after the end for good.
    package mutating func next() async -> SocketConnection.State? {
        while let state = await states.next(isolation: #isolation) {
            switch state {
            case .idle, .started, .handshaking: continue
            case .connected, .disconnected, .ended: return state
            }
        }
        return nil
    }
}

extension SocketConnection {
    /// The openings and ends from now on, beginning with the current state if it is one of them.
    package func milestones() -> Milestones { Milestones(states) }
}
