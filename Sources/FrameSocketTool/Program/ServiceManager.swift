/// The service manager that started this program, and the notifications it gets: the protocol of sd_notify(3).
///
/// Each is one datagram of `NAME=value` lines to the socket that `NOTIFY_SOCKET` names.
struct ServiceManager: Sendable {
    /// What can be reported.
    enum State {
        /// Units that wait for this service may start.
        case ready(status: String)
        /// The watchdog's timeout starts again.
        case alive
        case stopping

        fileprivate var text: String {
            switch self {
            // Only one line: what follows a line feed would be another assignment.
            case .ready(let status): "READY=1\nSTATUS=\(status.prefix { !$0.isNewline })"
            case .alive: "WATCHDOG=1"
            case .stopping: "STOPPING=1"
            }
        }
    }

    /// The name of its socket: a path, or a name that begins with a NUL byte; nil if nobody expects notifications.
    private let name: [UInt8]?

    /// How often it expects to hear that the program is alive: twice within the watchdog's timeout.
    let watchdogInterval: Duration?

    /// Reads the environment.
    init() {
        name = Self.value("NOTIFY_SOCKET").flatMap(Self.name)
        let isMeant = Self.value("WATCHDOG_PID").map { $0 == String(getpid()) } ?? true
        let microseconds = Self.value("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdogInterval = isMeant && name != nil && microseconds > 1 ? .microseconds(microseconds / 2) : nil
    }

    /// Whether somebody expects notifications.
    var isThere: Bool { name != nil }

    /// Sends a notification; if that fails, reports why to a person.
    ///
    /// A manager that does not read is waited for, but not long. With what repeats it is not waited for at all, and
    /// nothing is reported: the next one follows.
    func tell(_ state: State) {
        guard let name else { return }
        let repeats = if case .alive = state { true } else { false }
        do throws(CommandFailure) {
            try Self.send(Array(state.text.utf8), to: name, waits: !repeats)
        } catch {
            let isUnread = error.systemError == EWOULDBLOCK
            if isUnread, repeats { return }
            let reason = isUnread ? "it does not read its notifications" : error.message
            Terminal.say("cannot notify the service manager: \(reason)")
        }
    }

    /// A variable of the environment.
    static func value(_ name: String) -> String? {
        unsafe getenv(name).flatMap { unsafe String(validatingCString: $0) }
    }

    /// A name as the socket's address has it; nil if it is neither a path nor abstract, such as a virtual machine's
    /// port.
    private static func name(_ text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        let capacity = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        guard bytes.count > 1, bytes.count < capacity else { return nil }
        switch bytes.first {
        case UInt8(ascii: "/"): return bytes
        case UInt8(ascii: "@"): return [0] + bytes.dropFirst()
        default: return nil
        }
    }

    /// How many seconds a notification may wait for room in the manager's queue.
    private static let patience = 1

    private static func send(_ message: [UInt8], to name: [UInt8], waits: Bool) throws(CommandFailure) {
        #if canImport(Glibc)
            let type = Int32(SOCK_DGRAM.rawValue)
        #else
            let type = SOCK_DGRAM
        #endif
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw CommandFailure(on: "NOTIFY_SOCKET") }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // Of the socket, not of the call: a release build of Glibc's module has no MSG_DONTWAIT.
        if waits {
            var limit = timeval(tv_sec: Self.patience, tv_usec: 0)
            let size = socklen_t(MemoryLayout<timeval>.size)
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        } else {
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        // The length of an abstract name is that of its address; no NUL byte ends it.
        let size = MemoryLayout<sockaddr_un>.size
        let length = socklen_t(clamping: size - MemoryLayout.size(ofValue: address.sun_path) + name.count)
        let count = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe message.withUnsafeBytes { bytes in
                    unsafe sendto(descriptor, bytes.baseAddress, bytes.count, 0, pointer, length)
                }
            }
        }
        guard count == message.count else { throw CommandFailure(on: "NOTIFY_SOCKET") }
    }
}

/// The limits of time that no option sets, such as how long the end waits for a reader that does not read.
enum TimeLimit {
    #if DEBUG
        /// Tests shorten the limits that they wait for, and extend those that a busy machine must not exceed.
        private static let scale = ServiceManager.value("FRAMESOCKET_TIME_SCALE").flatMap { Double($0) } ?? 1
    #else
        private static let scale = 1.0
    #endif

    /// Returns a limit, or in tests a multiple of it.
    static func of(_ limit: Duration) -> Duration {
        limit * scale
    }
}
