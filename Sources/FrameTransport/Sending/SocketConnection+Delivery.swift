internal import Locking

/// Whether the server has read what was sent to it.
extension SocketConnection {
    /// Waits until the server has read everything that was sent over the current connection, or over the last one if no server
    /// is connected.
    ///
    /// A frame has been sent when ``send(_:)-(FrameMessage)`` has returned, or an uploader's `finish()`: the system holds it
    /// then, and it is lost if the server closes without reading it. Before a program ends that must lose nothing:
    ///
    /// ```swift
    /// try await uploader.finish()
    /// try await uploader.connection.delivered()
    /// ```
    ///
    /// A server of this package says so if it ends a connection before its program has taken everything that was read, unless
    /// the frames have neither timestamps nor numbers, as those of a plain sender; this method throws then. While the connection lasts, a frame that has been read may still wait for the program. If the server
    /// asks this side to stop, or ends the connection with nothing unread, this method returns, and ``state`` states why.
    ///
    /// Only Linux reports what is unread, and only over a path. Over a port, and on other systems, this method waits until
    /// everything has been written to the socket.
    ///
    /// - Throws: `closed` if no server has been connected, or this side closes; `sendTimedOut` if the server reads nothing for
    ///   ``Configuration/sendTimeout``; `cancelled` if the calling task is cancelled; or the error with which the connection
    ///   was lost before everything had been read; `connectionLost` if the server has discarded something.
    public func delivered() async throws(TransportError) {
        let number = driver.lane.delivery?.connection
        if try await waits(on: number, until: { $0.isWritten && $0.backlog?.isEmpty ?? true }) {
            // What the server said before it read the rest has been handled after that.
            for _ in 0..<3 { await turn() }
            if driver.lane.delivery?.connection == number {
                if hasDiscarded(on: number) { throw discarded }
                return
            }
        }
        guard let end = driver.facts.withLock({ $0.lastEnd }) else {
            throw TransportError(.closed, path: path, "no server is connected")
        }
        if let number, number != end.connection {
            throw TransportError(.connectionLost, path: path, "several connections have ended meanwhile")
        }
        switch end.reason {
        case .closedByPeer where end.leftUnread && !wasAskedToStop:
            // It has shut down its sending side alone: closed with something unread, it would have reset the connection.
            throw TransportError(
                .connectionLost,
                path: path,
                "the server ended the connection before it had read everything"
            )
        case .closedByPeer where hasDiscarded(on: end.connection): throw discarded
        case .closedByPeer: return
        case .failed(let error): throw error
        case .closedLocally: throw TransportError(.closed, path: path, "the connection has been closed")
        }
    }

    /// Whether the server has said that it discarded something that it had read, without having asked this side to stop.
    private func hasDiscarded(on connection: Int?) -> Bool {
        connection != nil && driver.facts.withLock { $0.discarding } == connection && !wasAskedToStop
    }

    private var discarded: TransportError {
        TransportError(
            .connectionLost,
            path: path,
            "the server ended the connection before its program had taken everything"
        )
    }

    /// Waits until the server has read a part of what was sent first: it has not turned this side away.
    ///
    /// - Returns: false if the connection has ended without that.
    /// - Throws: `sendTimedOut` and `cancelled`, as ``delivered()``.
    package func hasBegunReading() async throws(TransportError) -> Bool {
        var most = 0
        return try await waits(on: driver.lane.delivery?.connection) { delivery in
            guard let backlog = delivery.backlog else { return true }
            most = max(most, backlog.unreadByteCount)
            return backlog.isEmpty || (!backlog.hasPeerClosed && backlog.unreadByteCount < most)
        }
    }

    /// Waits until a connection, given by its number, is as far as `isEnough` says; false if it has ended first, for a reason
    /// that is known by then.
    private func waits(
        on number: Int?,
        until isEnough: (SendLane.Delivery) -> Bool
    ) async throws(TransportError) -> Bool {
        let limit = driver.configuration.sendTimeout.nanoseconds
        var (backlog, lastChange): (SendBacklog?, UInt64) = (nil, MonotonicClock.now())
        while let delivery = driver.lane.delivery, delivery.connection == number {
            if isEnough(delivery) { return true }
            let now = MonotonicClock.now()
            if delivery.backlog != backlog { (backlog, lastChange) = (delivery.backlog, now) }
            guard now - lastChange < limit else {
                throw TransportError(.sendTimedOut, path: path, "the server does not read what is sent")
            }
            do {
                // No system reports that something has been read, unless the socket was full.
                try await Task.sleep(for: .milliseconds(2))
            } catch {
                throw TransportError(.cancelled, path: path, "waiting for the server to read was cancelled")
            }
        }
        await turn()
        return false
    }

    /// Waits until the connection's thread has done what it is doing: it closes the socket, and then states why.
    private func turn() async {
        guard (try? thread.checkRunning()) != nil else { return }
        await withCheckedContinuation { continuation in thread.execute { continuation.resume() } }
    }
}

extension SocketConnection {
    /// The bytes in the socket that the server has not read or, over TCP, its system has not acknowledged; nil if no server is
    /// connected, or if the system does not report them (only Linux does).
    package var untakenByteCount: Int? { driver.lane.untakenByteCount }

    /// Whether the receiver has requested an orderly end, so that frames it did not get are not missed.
    package var wasAskedToStop: Bool { driver.facts.withLock { $0.wasAskedToStop } }

    /// Who listened when the last connection was made, also if it was refused; nil if there was none, or over TCP.
    package var peer: PeerPolicy.Credentials? { driver.facts.withLock { $0.peer } }

    /// Whether the connection has ended for good.
    package var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Calls `handler` once the connection has ended for good, without keeping the connection alive.
    package func onEnd(_ handler: @escaping @Sendable () -> Void) {
        Task { [closed = driver.closed] in
            guard (try? await closed.value()) != nil else { return }
            handler()
        }
    }
}

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
