extension FrameServer {
    /// What happens while the server runs.
    private enum Event: Sendable {
        case connected(FrameConnection)
        case handled
        /// No more connections come: the server was closed or the task cancelled, or the server failed.
        case ended(TransportError?)
    }

    /// Handles every connection in a task of its own, until the server is closed.
    ///
    /// ```swift
    /// let server = try FrameServer(at: "/run/user/1000/rtc_SSFD")
    /// try await server.run { connection in
    ///     for try await frame in connection.frames { record(frame) }
    /// }
    /// ```
    ///
    /// A connection ends with its handler: when `handler` returns or throws, the connection is closed. An error that
    /// `handler` throws affects no other connection; unless it is the one that ended the connection's frames, or a
    /// `CancellationError`, it is reported to ``Configuration/log`` as `handlerFailed`.
    ///
    /// The method returns when no more connections come and every handler has returned: after ``close()``, which ends the
    /// connections, or ``drain()``, which first delivers what has arrived. If the calling task is cancelled, the handlers
    /// are cancelled, and the sequences that they consume end. The server is closed when the method returns or throws.
    ///
    /// It takes the connections from ``connections``, which is for one consumer.
    ///
    /// - Parameter handler: Called with each connection; several calls run at once.
    /// - Throws: The error with which the server failed, once every handler has returned; `cancelled` if the calling task
    ///   is cancelled.
    public func run(
        _ handler: @escaping @Sendable (FrameConnection) async throws -> Void
    ) async throws(TransportError) {
        defer { close() }
        // A discarding group needs iOS 17. In this one, each task that has ended is taken out at once.
        let failure = await withTaskGroup(of: Event.self) { group in
            var failure: TransportError?
            group.addTask { await self.nextEvent() }
            for await event in group {
                switch event {
                case .connected(let connection):
                    group.addTask { await self.nextEvent() }
                    group.addTask {
                        await self.handle(connection, handler)
                        return .handled
                    }
                case .handled:
                    break
                case .ended(let error):
                    failure = error
                }
            }
            return failure
        }
        if let failure { throw failure }
        if Task.isCancelled { throw TransportError(.cancelled, "the task that runs the server was cancelled") }
    }

    private func nextEvent() async -> Event {
        var connections = connections.makeAsyncIterator()
        do throws(TransportError) {
            guard let connection = try await connections.next() else { return .ended(nil) }
            return .connected(connection)
        } catch {
            return .ended(error)
        }
    }

    private func handle(
        _ connection: FrameConnection,
        _ handler: @Sendable (FrameConnection) async throws -> Void
    ) async {
        defer { connection.close() }
        do {
            try await handler(connection)
        } catch {
            // What has ended the frames is reported with the connection's end.
            if error is CancellationError { return }
            let transportError = error as? TransportError
            if let transportError, transportError == connection.framesError { return }
            driver.report(
                .warning,
                .handlerFailed,
                "the program's handler of a connection failed: \(error)",
                connection: connection.id,
                peer: connection.peer,
                error: transportError
            )
        }
    }
}
