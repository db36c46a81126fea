import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A connection to a path that carries bytes without interpreting them.
///
/// Blocks, so it must not be used on Swift's pool.
final class PlainSocket {
    private let descriptor: Int32
    private let path: String
    /// Whether the server is known to read.
    private(set) var isAdmitted = false

    /// Connects.
    init(to path: String) throws(Files.Failure) {
        self.path = path
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < room, !bytes.contains(0) else { throw Files.Failure(path, ENAMETOOLONG) }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        #if canImport(Glibc)
            let type = Int32(SOCK_STREAM.rawValue)
        #else
            let type = Int32(SOCK_STREAM)
        #endif
        let made = socket(AF_UNIX, type, 0)
        guard made >= 0 else { throw Files.Failure(path) }
        _ = fcntl(made, F_SETFD, FD_CLOEXEC)
        let result = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe connect(made, address, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let failure = Files.Failure(path)
            close(made)
            throw failure
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

    func write(_ bytes: [UInt8]) throws(Files.Failure) {
        try Files.write(bytes.span, to: descriptor, name: path)
    }

    /// Writes the first byte and waits until the server has read it, which shows that it has a place for this
    /// connection.
    ///
    /// - Returns: false if the server closed the connection without reading the byte.
    func offer(_ byte: UInt8) async -> Bool {
        guard (try? write([byte])) != nil else { return false }
        // Some systems do not report what is unread.
        while let backlog = SendBacklog(of: descriptor), !backlog.isEmpty {
            if backlog.hasPeerClosed { return false }
            guard (try? await Task.sleep(for: .milliseconds(2))) != nil else { break }
        }
        isAdmitted = true
        return true
    }

    /// Shuts down sending, and waits until the other side has closed too, so that it reads what was sent.
    func end() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
        var rest: [UInt8] = []
        while (try? Files.read(from: descriptor, into: &rest, name: path)) == true { rest.removeAll() }
    }
}
