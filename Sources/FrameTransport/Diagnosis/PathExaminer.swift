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
