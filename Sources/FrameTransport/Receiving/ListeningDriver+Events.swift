internal import Locking

// What a server tells: its statistics, and events for a log.

extension ListeningDriver {
    /// A snapshot for the program, from any thread.
    var snapshot: FrameServer.Statistics {
        var statistics = statistics
        let connections = connections.withLock { Array($0.values) }
        (statistics.frames, statistics.bytes) = received.taken.value
        statistics.discardedFrames = received.discarded.value
        statistics.undecodableFrames = received.undecodable.value
        statistics.supersededFrames = connections.reduce(received.superseded.value) { $0 + $1.mailbox.replaced }
        statistics.memoryInFlight = connections.reduce(0) { $0 + $1.memoryInFlight }
        return statistics
    }

    func report(
        _ level: TransportEvent.Level,
        _ code: TransportEvent.Code,
        _ message: @autoclosure () -> String,
        connection: Int? = nil,
        peer: PeerPolicy.Credentials? = nil,
        error: TransportError? = nil,
        isRepeated: Bool = false
    ) {
        guard let log else { return }
        let event = TransportEvent(
            level,
            code,
            message(),
            endpoint: endpoint,
            connection: connection,
            peer: peer,
            error: error
        )
        log.report(event, isRepeated: isRepeated)
    }
}

extension TransportEvent {
    /// A sender has a slot, and has sent its token if it must.
    static func opened(_ id: Int, _ peer: PeerPolicy.Credentials?, at endpoint: String) -> TransportEvent {
        TransportEvent(
            .debug,
            .connectionOpened,
            "a sender is connected",
            endpoint: endpoint,
            connection: id,
            peer: peer
        )
    }

    /// Frames that had arrived, or bytes that came after the connection was closed, were discarded.
    static func discarded(
        frames: Int,
        bytes: Int,
        _ id: Int,
        _ peer: PeerPolicy.Credentials?,
        at endpoint: String
    ) -> TransportEvent {
        let what = frames > 0 ? "\(frames) frame\(frames == 1 ? "" : "s") that had arrived" : "\(bytes) bytes"
        return TransportEvent(
            .warning,
            .framesDiscarded,
            "\(what) \(frames == 1 && bytes == 0 ? "was" : "were") discarded: the program did not take "
                + (frames == 1 ? "it" : "them"),
            endpoint: endpoint,
            connection: id,
            peer: peer
        )
    }

    /// A connection has ended; one that was never ready had no valid token.
    static func ended(
        _ id: Int,
        _ peer: PeerPolicy.Credentials?,
        at endpoint: String,
        _ reason: CloseReason,
        wasReady: Bool
    ) -> TransportEvent {
        // A connection that was still in its handshake when the server ended was not refused.
        let isRefusal = if !wasReady, case .closedLocally = reason { false } else { !wasReady }
        let error = reason.error
        return TransportEvent(
            isRefusal || error != nil ? .warning : .debug,
            isRefusal ? .refusedForToken : error == nil ? .connectionEnded : .connectionFailed,
            isRefusal ? "a sender was refused, before it had sent the right token: \(reason)" : "\(reason)",
            endpoint: endpoint,
            connection: id,
            peer: peer,
            error: error
        )
    }
}
