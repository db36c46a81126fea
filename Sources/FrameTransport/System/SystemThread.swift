internal import CFrameTransport

/// A thread of the system, started at once and never joined.
package struct SystemThread: Sendable {
    /// What C calls the thread; compared only while it is alive.
    private let identity: UInt

    /// - Throws: The system's error if no thread can be created.
    package init(named name: StaticString, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        var identity: UInt = 0
        let error = unsafe frame_thread_start(
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            start.toOpaque(),
            &identity
        )
        guard error == 0 else {
            unsafe start.release()
            throw Errno(error)
        }
        self.identity = identity
    }

    /// Whether the caller is running on this thread.
    var isCurrent: Bool {
        frame_thread_current() == identity
    }

    /// What a new thread is given.
    private final class Start: Sendable {
        private let name: StaticString
        private let body: @Sendable () -> Void

        init(name: StaticString, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            frame_thread_block_signals()
            name.withUTF8Buffer { name in
                unsafe UnsafeRawPointer(name.baseAddress)?.withMemoryRebound(to: CChar.self, capacity: name.count) {
                    unsafe frame_thread_set_name($0)
                }
            }
            body()
        }
    }
}
