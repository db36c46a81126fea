/// The bytes that the socket has accepted and the server has not read yet.
package struct SendBacklog: Sendable, Hashable {
    /// The bytes that wait in the socket, including the system's overhead; 0 if the server has read everything, or has
    /// closed and everything unread was lost.
    package let unreadByteCount: Int

    /// Whether the server has closed the connection.
    package let hasPeerClosed: Bool

    /// Whether the server is connected and has read everything.
    package var isEmpty: Bool { unreadByteCount == 0 && !hasPeerClosed }
}

extension SocketConnection {
    /// The unread bytes; nil if no server is connected, or if the system does not report them (only Linux does, for
    /// Unix-domain sockets).
    package var backlog: SendBacklog? { driver.lane.delivery?.backlog }

    /// Whether the receiver has requested an orderly end, so that frames it did not get are not missed.
    package var wasAskedToStop: Bool { driver.control.wasAskedToStop }
}
