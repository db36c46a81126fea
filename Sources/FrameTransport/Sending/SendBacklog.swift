/// What the server has not read yet of the bytes that the socket has taken.
package struct SendBacklog: Sendable, Hashable {
    /// The bytes that wait in the socket, the system's own overhead included; 0 if the server has read everything, or has
    /// closed and everything unread was lost.
    package let unreadByteCount: Int

    /// Whether the server has closed the connection.
    package let hasPeerClosed: Bool

    /// Whether the server is there and has read everything.
    package var isEmpty: Bool { unreadByteCount == 0 && !hasPeerClosed }
}

extension SendBacklog {
    /// What the peer of a Unix-domain socket has not read yet; nil if the system does not tell.
    package init?(of socket: Int32) {
        guard let backlog = Syscalls.backlog(of: socket) else { return nil }
        self = backlog
    }
}

extension SocketConnection {
    /// What the server has not read yet; nil if nobody is connected, or the system does not tell, as only Linux does, of
    /// Unix-domain sockets.
    package var backlog: SendBacklog? { driver.lane.backlog }

    /// Whether the receiver has asked for the end, in order, so that frames it did not get are none that it misses.
    package var wasAskedToStop: Bool { driver.control.wasAskedToStop }
}
