/// What systems since iOS 18 and macOS 15 can do: tasks that run on the thread.
@available(macOS 15, iOS 18, visionOS 2, *)
extension IOThread: TaskExecutor {
    /// Runs a Swift Concurrency job on this thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        execute(TaskJob(UnownedJob(job), on: self))
    }
}

/// A job of a task that prefers an ``IOThread``.
///
/// The thread's loop, which older systems run too, cannot name the type of the executor: it is in here.
@safe struct TaskJob: Sendable {
    private let job: UnownedJob
    /// Alive until the job has run: its task refers to it.
    private unowned(unsafe) let thread: IOThread

    @available(macOS 15, iOS 18, visionOS 2, *)
    fileprivate init(_ job: UnownedJob, on thread: IOThread) {
        self.job = job
        unsafe self.thread = thread
    }

    /// Runs the job on the current thread, as the executor.
    func run() {
        // Always: nothing else makes such a job.
        if #available(macOS 15, iOS 18, visionOS 2, *) {
            unsafe job.runSynchronously(on: thread.asUnownedTaskExecutor())
        }
    }
}

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
