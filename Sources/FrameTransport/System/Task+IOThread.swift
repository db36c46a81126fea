// Tasks on a thread, where the system can do that: before iOS 18, macOS 15 and visionOS 2 they run on the shared pool, which differs
// only in the switches between threads.

#if WITHOUT_TASK_EXECUTORS
    // `make kqueue` tests what older systems run.
    private let hasTaskExecutors = false
#else
    private let hasTaskExecutors = true
#endif

extension Task where Failure == Never {
    @discardableResult
    package init(preferring thread: IOThread?, operation: sending @escaping @isolated(any) () async -> Success) {
        if #available(macOS 15, iOS 18, visionOS 2, *), hasTaskExecutors {
            self.init(executorPreference: thread, operation: operation)
        } else {
            self.init(operation: operation)
        }
    }
}

extension Task where Failure == any Error {
    @discardableResult
    package init(preferring thread: IOThread?, operation: sending @escaping @isolated(any) () async throws -> Success) {
        if #available(macOS 15, iOS 18, visionOS 2, *), hasTaskExecutors {
            self.init(executorPreference: thread, operation: operation)
        } else {
            self.init(operation: operation)
        }
    }
}

extension TaskGroup {
    package mutating func addTask(
        preferring thread: IOThread,
        operation: sending @escaping @isolated(any) () async -> ChildTaskResult
    ) {
        if #available(macOS 15, iOS 18, visionOS 2, *), hasTaskExecutors {
            addTask(executorPreference: thread, operation: operation)
        } else {
            addTask(operation: operation)
        }
    }
}

extension ThrowingTaskGroup {
    package mutating func addTask(
        preferring thread: IOThread,
        operation: sending @escaping @isolated(any) () async throws -> ChildTaskResult
    ) {
        if #available(macOS 15, iOS 18, visionOS 2, *), hasTaskExecutors {
            addTask(executorPreference: thread, operation: operation)
        } else {
            addTask(operation: operation)
        }
    }
}

/// Runs an operation, and the tasks that it starts, on a thread.
package func withPreference<Result: Sendable, Failure: Error>(
    for thread: IOThread,
    operation: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
    if #available(macOS 15, iOS 18, visionOS 2, *), hasTaskExecutors {
        try await withTaskExecutorPreference(thread, operation: operation)
    } else {
        try await operation()
    }
}
