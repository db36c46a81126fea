internal import FrameSocket
internal import Locking

/// Waits for an app to be reached: asks the person to open it after a while, and gives up after a limit.
final class HostSearch: Sendable {
    private let notice: HostNotice?
    private let limit: Duration?
    private let onMissingHost: @Sendable (HostNotice) -> Void
    private let task = Locked<Task<Void, Never>?>(nil)

    init(_ configuration: BroadcastSession.Configuration, onMissingHost: @escaping @Sendable (HostNotice) -> Void) {
        (notice, limit) = (configuration.hostNotice, configuration.hostTimeout)
        self.onMissingHost = onMissingHost
    }

    /// Begins, unless a search is in progress.
    ///
    /// - Parameters:
    ///   - connection: The connection to wait for.
    ///   - giveUp: Called if the limit passes.
    func begin(
        on connection: SocketConnection,
        giveUp: @escaping @Sendable (TransportError) -> Void
    ) {
        guard notice != nil || limit != nil else { return }
        task.withLock { task in
            guard task == nil else { return }
            task = Task { [weak self] in await self?.search(on: connection, giveUp) }
        }
    }

    /// Ends the search, because an app has been reached or nobody looks for one any more.
    func stop() {
        task.withLock { $0.take() }?.cancel()
    }

    private func search(on connection: SocketConnection, _ giveUp: @Sendable (TransportError) -> Void) async {
        var rest = limit
        if let notice, limit.map({ notice.delay < $0 }) ?? true {
            guard await failure(of: connection, within: notice.delay) != nil else { return }
            onMissingHost(notice)
            rest = rest.map { $0 - notice.delay }
        }
        guard let rest, let error = await failure(of: connection, within: rest) else { return }
        giveUp(error)
    }

    /// Waits for a connection; nil if there is one, or the wait is of no more use.
    private func failure(of connection: SocketConnection, within limit: Duration) async -> TransportError? {
        do throws(TransportError) {
            try await connection.open(within: limit)
            return nil
        } catch {
            // Whatever ended the connection is reported by its states.
            let isOver = Task.isCancelled || connection.hasEnded
            return isOver ? nil : error
        }
    }
}
