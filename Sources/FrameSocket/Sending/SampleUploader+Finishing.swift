public import FrameTransport
internal import Locking

// Waiting until what was submitted has been sent.
extension SampleUploader {
    /// Waits until every frame submitted before the call is sent, or a newer one has taken its place.
    ///
    /// Call it before `SocketConnection.close(_:)` and before the program ends: closing drops whatever has
    /// not been handed to the system, and so does the end of the process.
    ///
    /// ```swift
    /// uploader.send(image)
    /// try await uploader.finish()
    /// uploader.connection.close()
    /// ```
    ///
    /// A frame that the pacing has deferred is sent at once; one for which ``Configuration/Adaptation/maximumByteRate`` or the
    /// receiver leaves no room is sent when there is room, and waited for until then. If no server is connected, the call waits for one, for at most
    /// `connectTimeout` of the connection's configuration in all, and for as long as the exchange of tokens with a server
    /// may take that it has reached by then. It does not wait for a receiver that has requested a pause, or wants no
    /// frames. Frames submitted during the call do not prolong it. It returns at once if nothing is to be sent.
    ///
    /// The result tells of the latest frame. What ``send(_:orientation:timestamp:damage:)`` reported as dropped, what the pacing left
    /// out and what a newer frame replaced is not an error; see ``Statistics/drops``.
    ///
    /// A frame that could not be sent is still kept for the next receiver while the connection lasts, so the call may be
    /// repeated.
    ///
    /// - Throws: If the latest frame was not sent: `paused` or `notWanted` if the receiver wants none; `openTimedOut`,
    ///   `peerRefused`, `tokenRejected`, `closed` or another error of `SocketConnection.open(within:)` if no server was
    ///   reached; `busy` if other users of the connection keep it so; `notSent` if it could not be encoded. `cancelled` if
    ///   the calling task is cancelled first.
    public func finish() async throws(TransportError) {
        guard let ticket = unfinished else { return }
        var deadline: UInt64?
        while true {
            try await wait("waiting for frames was cancelled", isolation: #isolation) { machine, id in
                machine.finish(id, upTo: ticket, at: MonotonicClock.now())
            }.get()
            let (isPending, loss) = machine.withLock { ($0.isPending(upTo: ticket), $0.causeOfLoss(upTo: ticket)) }
            // A new connection may have taken up again what had just been lost.
            if isPending { continue }
            guard let cause = loss else { return }
            guard cause == .notConnected || cause == .connectionLost else { throw notSent(cause) }
            let now = MonotonicClock.now()
            let end = deadline ?? connection.connectTimeout.after(now)
            // A server that ends every connection does not prolong it.
            guard deadline == nil || now < end else { throw notSent(cause) }
            let rest = Duration.nanoseconds(Int64(clamping: end.subtractingClamping(now)))
            try await reachServer(within: deadline == nil ? connection.connectTimeout : rest)
            deadline = end
        }
    }

    /// The newest frame, if something is to be waited for or told of it; nil if it has been sent.
    package var unfinished: UInt64? {
        machine.withLock { machine in
            let ticket = machine.newestTicket
            return machine.isPending(upTo: ticket) || machine.causeOfLoss(upTo: ticket) != nil ? ticket : nil
        }
    }

    /// Waits until a server has been reached, or for the end of its handshake if that has begun.
    private func reachServer(within limit: Duration) async throws(TransportError) {
        do throws(TransportError) {
            do throws(TransportError) {
                try await connection.open(within: limit)
            } catch {
                guard error.code == .openTimedOut, connection.state == .handshaking else { throw error }
                try await connection.open(within: connection.handshakeTimeout)
            }
        } catch {
            guard error.code != .cancelled else { throw error }
            throw TransportError(
                error.code,
                path: error.path,
                underlyingErrno: error.underlyingErrno,
                "the latest frame was not sent: \(error.message)"
            )
        }
    }

    /// Returns the error for the latest frame, which was not sent for this cause.
    private func notSent(_ cause: SampleUploader.DropCause) -> TransportError {
        let code: TransportError.Code =
            switch cause {
            case .paused: .paused
            case .notWanted: .notWanted
            case .notConnected: .closed
            case .connectionLost: .connectionLost
            case .superseded: .busy
            case .paced, .unchanged, .outsideLimits, .encodingFailed: .notSent
            }
        var reason = cause == .superseded ? "another message was being sent on its connection" : cause.description
        if cause == .encodingFailed, let error = statistics.lastEncodingError { reason += ": \(error)" }
        return TransportError(code, path: connection.path, "the latest frame was not sent: \(reason)")
    }
}
