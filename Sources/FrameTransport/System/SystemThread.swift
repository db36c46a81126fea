internal import CFrameTransport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A thread of the system, started at once and never joined.
package struct SystemThread: @unchecked Sendable {
    // A pthread_t may be compared on any thread, which is its only use here.
    private let handle: pthread_t

    /// - Throws: The system's error if no thread can be created.
    package init(named name: StaticString, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        final class Start {
            let name: StaticString
            let body: @Sendable () -> Void
            init(name: StaticString, body: @escaping @Sendable () -> Void) {
                self.name = name
                self.body = body
            }
        }
        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        #if canImport(Darwin)
            var handle: pthread_t?
        #else
            var handle = pthread_t()
        #endif
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { unsafe pthread_attr_destroy(&attributes) }
        let error = unsafe pthread_create(
            &handle,
            &attributes,
            { argument in
                guard let argument = unsafe Self.pointer(argument) else { return nil }
                let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                frame_thread_block_signals()
                start.name.withUTF8Buffer { name in
                    unsafe UnsafeRawPointer(name.baseAddress)?.withMemoryRebound(to: CChar.self, capacity: name.count) {
                        unsafe frame_thread_set_name($0)
                    }
                }
                start.body()
                return nil
            },
            start.toOpaque()
        )
        guard error == 0 else {
            unsafe start.release()
            throw Errno(error)
        }
        #if canImport(Darwin)
            guard let handle = unsafe handle else { throw Errno(EAGAIN) }
        #endif
        self.handle = handle
    }

    /// Unwraps the argument of a thread's start routine, which Apple imports as never nil.
    private static func pointer(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        unsafe argument
    }

    /// Whether the caller is running on this thread.
    var isCurrent: Bool {
        pthread_equal(pthread_self(), handle) != 0
    }
}
