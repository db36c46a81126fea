import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What `framesocket receive` does as a service beside receiving.
extension ReceiveCommand {
    /// How often the counters are written.
    private static let metricsInterval: Duration = .seconds(5)

    /// How long what has arrived may take to be handled at the end: well below the 90 s after which systemd kills.
    private static let drainLimit: Duration = .seconds(20)

    /// Ends as a service manager wants it, where one has started this program.
    func prepare(for manager: ServiceManager) {
        guard manager.isThere || place.isPassed else { return }
        // Anything else is a failure to it.
        Interruption.termination = .done
        signal(SIGHUP, SIG_IGN)
    }

    /// Tells that the server listens, to everybody who wants to know.
    func announce(_ server: FrameServer, _ reception: Reception, to manager: ServiceManager) async {
        do {
            try await writeMetrics(server, reception)
        } catch {
            return await reception.finish(.failure(CommandFailure(.cannotCreate, error.message)))
        }
        await reception.report(.listening(at: server.endpoint))
        manager.tell(.ready(status: "listening at \(server.endpoint)"))
    }

    /// Writes the counters and tells the watchdog, until the task is cancelled.
    func serve(_ server: FrameServer, _ reception: Reception, _ manager: ServiceManager) async {
        await withDiscardingTaskGroup { group in
            if metrics != nil {
                group.addTask {
                    while (try? await Task.sleep(for: Self.metricsInterval)) != nil {
                        // A disk that is full for a while costs counters, and no frames.
                        try? await writeMetrics(server, reception)
                    }
                }
            }
            if let interval = manager.watchdogInterval {
                group.addTask {
                    while (try? await Task.sleep(for: interval)) != nil {
                        // By way of the thread that reads the sockets: where that hangs nothing is told.
                        await Task(executorPreference: IOThread.shared) { manager.tell(.alive) }.value
                    }
                }
            }
        }
    }

    /// Ends what a signal ends: a service first delivers what has arrived.
    func end(_ server: FrameServer, _ reception: Reception, _ manager: ServiceManager) async {
        manager.tell(.stopping)
        if Interruption.isTermination {
            server.drain()
            let limit = Task {
                guard (try? await Task.sleep(for: Self.drainLimit)) != nil else { return }
                await reception.finish(.failure(CommandFailure(.timedOut, "frames were not handled in time")))
            }
            // The consumers have taken everything, and handled it.
            _ = await reception.outcome()
            limit.cancel()
        }
        server.close()
        try? await server.closed()
        try? await writeMetrics(server, reception)
        await reception.summarise()
    }

    private func writeMetrics(_ server: FrameServer, _ reception: Reception) async throws(Files.Failure) {
        guard let metrics else { return }
        let text = await ReceptionMetrics(
            endpoint: server.endpoint,
            connections: reception.senderCount,
            refused: server.refusedConnections,
            totals: reception.totals
        ).text
        try Files.create(metrics, Array(text.utf8).span, overwrites: true)
    }
}
