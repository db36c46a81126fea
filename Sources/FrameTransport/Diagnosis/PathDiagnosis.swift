internal import Locking

/// What is right and what is wrong with a socket's path: the directory, what stands there, and who listens.
///
///     let diagnosis = await PathDiagnosis(of: "/run/user/1000/rtc_SSFD")
///     for finding in diagnosis.findings { print(finding.code, finding) }
///
/// Nothing is changed on disk, and no symbolic link at the path is followed. Where a socket stands there it is connected
/// to, and the connection ended at once without a byte: a server sees a sender that comes and goes.
public struct PathDiagnosis: Sendable, Hashable {
    /// The path that was looked at.
    public let path: String

    /// What was found: of the path first, then of its directory, of what stands there, and of the system.
    public let findings: [PathFinding]

    /// The worst finding, and the first of those that are as bad.
    public var worst: PathFinding? {
        findings.reduce(nil) { worst, finding in
            guard let worst, worst.severity >= finding.severity else { return finding }
            return worst
        }
    }

    /// How bad the worst finding is.
    public var severity: PathFinding.Severity { worst?.severity ?? .note }

    /// Looks at a path, on a thread of its own.
    ///
    /// - Parameters:
    ///   - path: A server's, as ``FrameServer`` takes it.
    ///   - peers: Whose server is one to deal with; default: this user's and root's.
    ///   - deadline: How long a server may take to take a connection and see its end; default: 2 s.
    public init(of path: String, peers: PeerPolicy = .sameUserOrRoot, within deadline: Duration = .seconds(2)) async {
        self.path = path
        let findings = Latch<[PathFinding]>()
        let examine: @Sendable () -> Void = {
            var examiner = PathExaminer(peers: peers, patience: deadline)
            examiner.examine(path)
            findings.set(examiner.findings)
        }
        do {
            _ = try SystemThread(named: "framesocket.doctor", examine)
        } catch {
            examine()
        }
        self.findings = await findings.wait()
    }
}
