import FrameSocket

/// What `framesocket receive` does as a service besides receiving.
extension ReceiveCommand {
    /// The interval at which the counters are written.
    private static let metricsInterval = TimeLimit.of(.seconds(5))

    /// How long frames that have arrived may take to be handled at the end: well below the 90 s after which systemd
    /// kills.
    private static let drainLimit = TimeLimit.of(.seconds(20))

    /// Sets the exit code that a service manager expects, if one has started this program.
    func prepare(for manager: ServiceManager) {
        Interruption.drains = true
        guard manager.isThere || place.isPassed else { return }
        // A service manager regards any other code as a failure.
        Interruption.termination = .done
        signal(SIGHUP, SIG_IGN)
    }

    /// Reports to everybody concerned that the server listens.
    func announce(_ server: FrameServer, _ reception: Reception, to manager: ServiceManager) async {
        await reception.report(.listening(at: server.endpoint))
        manager.tell(.ready(status: "listening at \(server.endpoint)"))
    }

    /// Writes the counters and notifies the watchdog until the task is cancelled.
    func serve(_ server: FrameServer, _ reception: Reception, _ manager: ServiceManager) async {
        await withDiscardingTaskGroup { group in
            if metrics != nil {
                group.addTask {
                    while (try? await Task.sleep(for: Self.metricsInterval)) != nil {
                        await updateMetrics(server, reception)
                    }
                }
            }
            if audio != nil {
                group.addTask {
                    while (try? await Task.sleep(for: .seconds(1))) != nil { await reception.checkSound() }
                }
            }
            if let interval = manager.watchdogInterval {
                group.addTask {
                    while (try? await Task.sleep(for: interval)) != nil {
                        // Sent by way of the thread that reads the sockets: if that hangs, the watchdog is not
                        // notified.
                        await Task(preferring: IOThread.shared) { manager.tell(.alive) }.value
                    }
                }
            }
        }
    }

    /// Handles a signal: a service first delivers what has arrived.
    func end(_ server: FrameServer, _ reception: Reception, _ manager: ServiceManager) async {
        manager.tell(.stopping)
        if Interruption.isTermination {
            server.drain()
            let limit = Task {
                guard (try? await Task.sleep(for: Self.drainLimit)) != nil else { return }
                BlockedCall.hurry()
                // A frame that is being written to a slow reader has a second more; nothing else gets on meanwhile.
                Task {
                    try? await Task.sleep(for: TimeLimit.of(.seconds(1)))
                    BlockedCall.giveUp()
                }
                let message = "frames that had arrived are lost: they were not written in time"
                await reception.finish(.failure(CommandFailure(.cannotCreate, message)))
            }
            // The consumers have received and handled everything.
            _ = await reception.outcome()
            limit.cancel()
        }
        server.close()
        try? await server.closed()
        await Interruption.settle()
        await reception.checkSound()
        await updateMetrics(server, reception)
        await reception.summarise()
    }

    /// Writes the counters again; a full disk costs them, and not frames.
    private func updateMetrics(_ server: FrameServer, _ reception: Reception) async {
        do throws(Files.Failure) {
            try writeMetrics(server, reception)
            await reception.noteMetrics(nil)
        } catch {
            await reception.noteMetrics(error)
        }
    }

    /// Writes the counters, if a file is named for them.
    func writeMetrics(_ server: FrameServer, _ reception: Reception) throws(Files.Failure) {
        guard let metrics else { return }
        let (senders, totals) = reception.counts
        let text = ReceptionMetrics(
            endpoint: server.endpoint,
            connections: senders,
            server: server.statistics,
            totals: totals
        ).text
        let bytes = Array(text.utf8)[...]
        try Files.create(metrics, bytes.span, overwrites: true)
    }
}
