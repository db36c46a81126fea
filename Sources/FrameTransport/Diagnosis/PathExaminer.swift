/// Examines a path as a server would before listening there, and a sender before connecting.
///
/// It blocks until its deadline at the latest.
struct PathExaminer {
    private(set) var findings: [PathDiagnosis.Finding] = []

    private let peers: PeerPolicy
    private let patience: Duration

    init(peers: PeerPolicy, patience: Duration) {
        self.peers = peers
        self.patience = patience
    }

    mutating func examine(_ text: String) {
        var server: Int32?
        if let path = examineText(text) { server = examinePlace(path) }
        examineDescriptors(of: server)
    }

    // MARK: The path itself

    private mutating func examineText(_ text: String) -> SocketPath? {
        do {
            let path = try SocketPath(text)
            if !path.isWhole { findings.append(Self.longPath(text)) }
            return path
        } catch {
            findings.append(error.code == .pathTooLong ? Self.tooLong(text) : Self.invalid(error))
            return nil
        }
    }

    // MARK: The directory and the file

    /// Examines the directory and the file at the path, and returns the listening process.
    private mutating func examinePlace(_ path: SocketPath) -> Int32? {
        let directory: OwnedDescriptor
        do {
            directory = try Syscalls.openDirectory(path.directory)
        } catch {
            findings.append(Self.unusableDirectory(path, error))
            return nil
        }
        var probe = SocketProbe(path: path, directory: directory.rawValue, peers: peers, patience: patience)
        var found = Self.entryFinding(path, in: directory.rawValue) ?? probe.finding()
        // Whether files can be created there matters only to a server that is yet to start.
        let isServed = [.liveServer, .silentServer, .fullServer, .refusedPeer].contains(found.code)
        let isClosed = found.code == .inaccessibleDirectory
        var others = Self.directoryFindings(path, directory.rawValue, isServed: isServed, isClosed: isClosed)
        // What a server's files are is no business of somebody who cannot use them.
        let isForeign = isClosed || [.inaccessibleSocket, .foreignSocket].contains(found.code)
        if !isServed, !isForeign, let lock = Self.lockFinding(path, in: directory.rawValue) { others.append(lock) }
        if [.freePath, .deadSocket].contains(found.code), !others.contains(where: { $0.severity == .failure }) {
            if let obstacle = Self.obstacle(path, in: directory.rawValue) { others.append(obstacle) }
        }
        if found.code == .freePath, (findings + others).contains(where: { $0.severity == .failure }) {
            found = Self.free(isUsable: false)
        }
        // The cause comes first.
        findings += isForeign ? [found] + others : others + [found]
        return probe.server
    }

    private static func directoryFindings(
        _ path: SocketPath,
        _ directory: Int32,
        isServed: Bool,
        isClosed: Bool
    ) -> [PathDiagnosis.Finding] {
        var findings: [PathDiagnosis.Finding] = []
        do throws(Errno) {
            let entry = try Syscalls.entry(of: directory)
            if entry.owner != Syscalls.effectiveUserID, entry.owner != 0 {
                findings.append(foreignDirectory(path, entry))
            } else if entry.isOpenToOthers {
                findings.append(openDirectory(path, entry))
            }
            // Without access to its files, none can be created either.
            guard !isClosed else { return findings }
            do throws(Errno) {
                try Syscalls.checkWritable(directory)
            } catch {
                findings.append(readOnlyDirectory(path, entry, error, isServed: isServed))
            }
        } catch {
            findings.append(system(error, "the directory \(path.directory) cannot be examined"))
        }
        return findings
    }

    /// Returns the finding about the file at the path; nil for a socket, which must be probed.
    private static func entryFinding(_ path: SocketPath, in directory: Int32) -> PathDiagnosis.Finding? {
        do throws(Errno) {
            let entry = try Syscalls.entry(named: path.name, in: directory)
            return entry.kind == .socket ? nil : notASocket(path, entry)
        } catch .noEntry {
            return free()
        } catch {
            if error == .accessDenied, let entry = try? Syscalls.entry(of: directory) {
                return inaccessibleDirectory(path, entry, error)
            }
            return system(error, "the file at the path cannot be examined")
        }
    }

    /// Tries what a server does, with another name; nil if that works.
    private static func obstacle(_ path: SocketPath, in directory: Int32) -> PathDiagnosis.Finding? {
        let name = ".framesocket-doctor-\(Syscalls.processID)"
        guard let trial = try? SocketPath(path.directory + "/" + name) else { return nil }
        do throws(Errno) {
            try Syscalls.tryBinding(at: trial, in: directory)
            return nil
        } catch {
            // Files may be created there, so it is not a matter of permissions.
            let known = error == .notPermitted ? Errno.notSupported : error
            guard let obstacle = PathObstacle(known, in: path.directory) else {
                return system(error, "no socket can be created in \(path.directory)")
            }
            return PathDiagnosis.Finding(
                obstacle.code,
                .failure,
                "\(obstacle.message) (\(error))",
                remedy: obstacle.remedy,
                values: ["errno": Int(error.rawValue)]
            )
        }
    }

    private static func lockFinding(_ path: SocketPath, in directory: Int32) -> PathDiagnosis.Finding? {
        let name = PathLock.name(for: path)
        guard let entry = try? Syscalls.entry(named: name, in: directory) else { return nil }
        guard PathLock.isUsable(entry) else { return unusableLock(path, entry) }
        return Syscalls.isLocked(named: name, in: directory) ? heldLock(path) : nil
    }

    // MARK: The system

    /// The number of descriptors that a server should have left: one for every sender that it accepts.
    private static let wantedDescriptors = FrameServer.Limits().maximumConnections

    private mutating func examineDescriptors(of server: Int32?) {
        addDescriptors(of: nil)
        // The system's own process, which may listen for others, shows its descriptors only to root.
        if let server, server > 1 { addDescriptors(of: server) }
    }

    private mutating func addDescriptors(of process: Int32?) {
        guard let use = Syscalls.descriptorUse(of: process) else { return }
        let isShort = use.limit - use.open < Self.wantedDescriptors
        findings.append(Self.descriptors(use, of: process, wanted: isShort ? Self.wantedDescriptors : nil))
    }
}

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
