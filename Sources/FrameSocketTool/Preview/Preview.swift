import FrameSocket

/// Passes what senders send to the stage.
struct Preview: Sendable {
    /// The interval at which viewers are checked.
    static let tendingInterval = Duration.milliseconds(100)

    private let stage: PreviewStage
    private let report: @Sendable (Reception.Event) -> Void

    init(_ stage: PreviewStage, report: @escaping @Sendable (Reception.Event) -> Void) {
        self.stage = stage
        self.report = report
    }

    /// Receives until the server ends.
    func follow(_ server: FrameServer) async -> Result<Void, CommandFailure> {
        // Rotating images takes a while, and must hold up neither the sockets nor Swift's pool.
        let thread = IOThread()
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while (try? await Task.sleep(for: Self.tendingInterval)) != nil { stage.tend() }
            }
            defer { group.cancelAll() }
            return await Task(preferring: thread) { await followAll(of: server) }.value
        }
    }

    private func followAll(of server: FrameServer) async -> Result<Void, CommandFailure> {
        await withDiscardingTaskGroup { senders in
            do throws(TransportError) {
                for try await connection in server.connections {
                    senders.addTask { await follow(connection) }
                }
                return .success(())
            } catch {
                return .failure(CommandFailure(.unavailable, error.description))
            }
        }
    }

    /// Receives what one sender sends, to its end.
    private func follow(_ connection: FrameConnection) async {
        report(.connected(connection))
        stage.begin(connection)
        async let statuses: Void = followStatuses(of: connection)
        var failure: TransportError?
        do throws(TransportError) {
            for try await frame in connection.frames {
                guard let error = stage.take(frame, of: connection) else { continue }
                report(.failed(connection: connection.id, code: error.code.rawValue, message: error.advice))
            }
        } catch {
            failure = error
            report(.broken(connection: connection.id, error))
        }
        let reason = await connection.ended()
        await statuses
        stage.end(connection, reason: reason)
        report(.closed(connection: connection.id, reason: reason, told: failure))
    }

    private func followStatuses(of connection: FrameConnection) async {
        await connection.followStates { status in
            stage.take(status, of: connection)
            report(.status(status, connection: connection.id))
        }
    }
}
