import FrameSocket

/// Receives the frames of several senders, and keeps the latest image of each.
///
/// The actor guards only the state of the senders: frames are received and decoded outside it, in a task for each
/// sender, so that a sender whose frames are slow to decode does not delay the others.
actor Ingest {
    /// The state of one sender.
    struct Sender {
        var latest: PixelBuffer?
        var statistics = ReceptionStatistics()
        var undecodable = 0
        var end: CloseReason?
    }

    private(set) var senders: [FrameConnection.ID: Sender] = [:]

    /// The number of senders that have come and gone.
    var ended: Int { senders.values.count { $0.end != nil } }

    /// Serves each sender to its end, until the server is closed, or `limit` of them have come and gone.
    func run(_ server: FrameServer, until limit: Int = .max) async throws {
        try await server.run { connection in
            await self.take(connection)
            if await self.ended >= limit { server.close() }
        }
    }

    /// Receives one sender's frames; an error ends only this sender.
    nonisolated private func take(_ connection: FrameConnection) async {
        await begin(connection.id)
        // Keeps the previous image for the next frame; released with the sender.
        let decoder = FrameDecoder()
        do {
            for try await frame in connection.frames {
                // An invalid image affects only its frame; too many in a row end the connection.
                let image = try? decoder.decode(frame, as: .bgra).image
                await note(frame, image, of: connection.id)
            }
        } catch {
            // The close reason below says why it failed.
        }
        // Nil if the service ends first.
        let reason = (try? await connection.closed()) ?? .closedLocally(.stoppedByUser)
        await end(connection.id, reason)
    }

    private func begin(_ id: FrameConnection.ID) {
        senders[id] = Sender()
    }

    private func note(_ frame: Frame, _ image: PixelBuffer?, of id: FrameConnection.ID) {
        senders[id]?.statistics.add(frame)
        if let image { senders[id]?.latest = image } else { senders[id]?.undecodable += 1 }
    }

    private func end(_ id: FrameConnection.ID, _ reason: CloseReason) {
        senders[id]?.end = reason
    }
}
