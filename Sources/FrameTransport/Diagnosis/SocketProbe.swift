/// Probes a socket: whether a server listens, whose it is, and whether it accepts connections.
///
/// The probe connects, and waits a moment to see whether the server closes the connection. Then it shuts down its
/// sending side and waits for the server to end too, as every server does that accepts the connection and reads. This
/// distinguishes a healthy server from one that is stopped or has too many waiting connections.
struct SocketProbe {
    /// The listening process, if the system reports it.
    private(set) var server: Int32?

    private let path: SocketPath
    private let directory: Int32
    private let peers: PeerPolicy
    private let patience: Duration
    private let deadline: UInt64

    /// The time between two attempts if the backlog is full, in nanoseconds.
    private static let pause: UInt64 = 10_000_000

    /// The time allowed for a server to refuse a connection, in nanoseconds.
    private static let firstLook: UInt64 = 300_000_000

    init(path: SocketPath, directory: Int32, peers: PeerPolicy, patience: Duration) {
        self.path = path
        self.directory = directory
        self.peers = peers
        self.patience = patience
        deadline = MonotonicClock.deadline(in: patience)
    }

    /// Returns the finding about the socket and its server.
    mutating func finding() -> PathDiagnosis.Finding {
        let socket: OwnedDescriptor
        do {
            socket = try connect()
        } catch {
            return failure(error)
        }
        let peer: PeerPolicy.Credentials
        do {
            peer = try peers.admit(socket.rawValue, at: path.text)
        } catch {
            let peer = try? Syscalls.peer(of: socket.rawValue)
            server = peer?.processID
            return PathExaminer.refusedPeer(path, peer)
        }
        server = peer.processID
        // A server that accepts the connection has no reason to end it before this side shuts down.
        let now = MonotonicClock.now()
        let left = deadline > now ? deadline - now : 0
        if isEnded(socket.rawValue, until: now + min(Self.firstLook, left / 2)) {
            return PathExaminer.fullServer(peer)
        }
        Syscalls.shutdownSending(socket.rawValue)
        return isEnded(socket.rawValue, until: deadline)
            ? PathExaminer.liveServer(peer) : PathExaminer.silentServer(path, peer, patience)
    }

    private func connect() throws(Errno) -> OwnedDescriptor {
        let address = SocketAddress.path(path)
        while true {
            let socket = try Syscalls.makeSocket(for: address)
            do throws(Errno) {
                try Syscalls.connectSocket(socket.rawValue, to: address, in: directory)
                return socket
            } catch .again where MonotonicClock.now() < deadline {
                Syscalls.pause(until: min(deadline, MonotonicClock.now() &+ Self.pause))
            }
        }
    }

    /// Discards input until the other side ends; false if it has not by the deadline.
    private func isEnded(_ socket: Int32, until deadline: UInt64) -> Bool {
        unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { scratch in
            while MonotonicClock.now() < deadline {
                switch try? unsafe Syscalls.receive(from: socket, into: scratch) {
                // A reset connection has ended too.
                case .bytes(0, _), nil: return true
                case .bytes: continue
                case .wouldBlock:
                    guard (try? Syscalls.waitForInput(on: socket, until: deadline)) == true else { return false }
                }
            }
            return false
        }
    }

    private func failure(_ error: Errno) -> PathDiagnosis.Finding {
        let entry = try? Syscalls.entry(named: path.name, in: directory)
        switch error {
        case .refused:
            let isMount = Syscalls.isMount(named: path.name, in: directory)
            return PathExaminer.deadSocket(path, entry, isMount: isMount)
        case .noEntry: return PathExaminer.free()
        case .again: return PathExaminer.silentServer(path, nil, patience)
        case .wrongType: return PathExaminer.wrongType()
        case .accessDenied, .notPermitted: return PathExaminer.inaccessibleSocket(entry, error)
        default: return PathExaminer.system(error, "the socket cannot be connected to")
        }
    }
}
