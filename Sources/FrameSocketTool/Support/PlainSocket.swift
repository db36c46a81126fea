import FrameSocket

/// A connection to a path that carries bytes without interpreting them.
///
/// Blocks, so it must not be used on Swift's pool.
final class PlainSocket {
    /// How long the server may take to close once it has read everything.
    private static let linger: Duration = .seconds(1)

    /// How long the server may leave everything in the socket unread.
    private static let patience: Duration = .seconds(10)

    /// How long the system is asked to wait for the server, before what is unread is examined.
    private static let waitMilliseconds: Int32 = 50

    private let descriptor: Int32
    private let path: String
    /// Whether the server is known to read.
    private(set) var isAdmitted = false

    /// Connects, unless the server's queue of connections is full.
    init(to path: String) throws(TransportError) {
        self.path = path
        #if canImport(Glibc)
            let type = Int32(SOCK_STREAM.rawValue)
        #else
            let type = Int32(SOCK_STREAM)
        #endif
        let made = socket(AF_UNIX, type, 0)
        guard made >= 0 else {
            throw TransportError(.system, path: path, underlyingErrno: errno, "no socket could be created")
        }
        _ = fcntl(made, F_SETFD, FD_CLOEXEC)
        _ = fcntl(made, F_SETFL, fcntl(made, F_GETFL) | O_NONBLOCK)
        do {
            try SocketEndpoint.path(path).connect(made)
        } catch {
            close(made)
            throw error
        }
        descriptor = made
    }

    deinit {
        close(descriptor)
    }

    /// Checks that the server belongs to this user or root, before anything is written.
    func checkPeer() throws(TransportError) {
        try PeerPolicy.sameUserOrRoot.admit(descriptor, at: path)
    }

    /// Writes bytes.
    ///
    /// - Returns: false if the server closed the connection before it had all of them.
    /// - Throws: `timedOut` if the server does not read.
    func write(_ bytes: [UInt8]) throws(CommandFailure) -> Bool {
        var watch = StallWatch(limit: Self.patience)
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe send(
                    descriptor,
                    UnsafeRawBufferPointer(rebasing: bytes[offset...]).baseAddress,
                    bytes.count - offset,
                    0
                )
            }
            if count > 0 {
                offset += count
                watch = StallWatch(limit: Self.patience)
            } else if errno == EAGAIN {
                try wait(for: POLLOUT, &watch)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Writes the first byte and waits until the server has read it, which shows that it has a place for this
    /// connection.
    ///
    /// A server that reads it and then closes has a place, too: it has rejected what the byte says.
    ///
    /// - Returns: false if the server closed the connection without reading the byte.
    /// - Throws: `timedOut` if the server does not read it.
    func offer(_ byte: UInt8) async throws(CommandFailure) -> Bool {
        guard try write([byte]) else { return false }
        var watch = StallWatch(limit: Self.patience)
        // Some systems do not report what is unread.
        while let backlog = SendBacklog(of: descriptor), !backlog.isEmpty {
            if backlog.hasPeerClosed {
                // What was unread would have made the end a reset.
                guard readRest() == 0 else { return false }
                break
            }
            guard !watch.isStalled(at: backlog) else { throw stalled }
            guard (try? await Task.sleep(for: .milliseconds(2))) != nil else { break }
        }
        isAdmitted = true
        return true
    }

    /// Shuts down sending, and waits until the server has read what was sent, and briefly for it to close too.
    ///
    /// - Returns: false if the server closed the connection before it had read everything.
    /// - Throws: `timedOut` if the server does not read.
    func end() throws(CommandFailure) -> Bool {
        _ = shutdown(descriptor, Int32(SHUT_WR))
        var watch = StallWatch(limit: Self.patience)
        var deadline: ContinuousClock.Instant?
        // What the server writes is read: otherwise the end would reach it as a reset.
        while true {
            switch readRest() {
            case 0: return true
            case EAGAIN: break
            default: return false
            }
            let backlog = SendBacklog(of: descriptor)
            if backlog.map({ $0.unreadByteCount == 0 }) ?? true {
                let end = deadline ?? .now + Self.linger
                guard .now < end else { return true }
                deadline = end
            }
            try wait(for: POLLIN, &watch)
        }
    }

    /// Reads and drops what the server has written; returns the system's error, or 0 at the end.
    private func readRest() -> Int32 {
        var rest = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe rest.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
            if count == 0 { return 0 }
            if count < 0, errno != EINTR { return errno }
        }
    }

    /// Waits a moment for the socket to become ready.
    private func wait(for events: Int32, _ watch: inout StallWatch) throws(CommandFailure) {
        guard !watch.isStalled(at: SendBacklog(of: descriptor)) else { throw stalled }
        var watched = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        _ = unsafe poll(&watched, 1, Self.waitMilliseconds)
    }

    private var stalled: CommandFailure { CommandFailure(.timedOut, "\(path): the server does not read what is sent") }
}
