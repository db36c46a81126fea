// What FrameSocket's articles use of swift-service-lifecycle 2, declared as it is there.

import Synchronization

/// What a service group runs.
public protocol Service: Sendable {
    func run() async throws
}

/// Calls the handlers once the group shuts down; a group of one service that is told to by its program.
public enum ServiceGroup {
    private static let handlers = Mutex<[@Sendable () -> Void]>([])

    /// Shuts the group down.
    public static func triggerGracefulShutdown() {
        for handler in handlers.withLock({ $0 }) { handler() }
    }

    fileprivate static func add(_ handler: @escaping @Sendable () -> Void) {
        handlers.withLock { $0.append(handler) }
    }
}

/// Runs an operation, and calls the handler once the group shuts down.
public func withGracefulShutdownHandler<T>(
    isolation: isolated (any Actor)? = #isolation,
    operation: () async throws -> T,
    onGracefulShutdown handler: @Sendable @escaping () -> Void
) async rethrows -> T {
    ServiceGroup.add(handler)
    return try await operation()
}
