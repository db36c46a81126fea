/// A diagnosis of a socket's path: its directory, the file at the path, and the listening server.
///
/// ```swift
/// let diagnosis = await PathDiagnosis(of: "/run/user/1000/rtc_SSFD")
/// for finding in diagnosis.findings { print(finding.code, finding) }
/// ```
///
/// The diagnosis does not follow a symbolic link at the path. If a server could start there, a socket with another name is
/// created in the directory and removed at once, to see whether the file system has sockets. If there is a socket, the
/// diagnosis connects to it, waits a moment to see whether the server refuses it, and ends the connection without
/// sending a byte: to the server, it looks like a sender that connects and disconnects.
public struct PathDiagnosis: Sendable, Hashable {
    /// The examined path.
    public let path: String

    /// The findings: first about the path, then about its directory, the file at the path, and the system.
    ///
    /// If this user may not reach the file at the path, that comes before what concerns the directory.
    public let findings: [Finding]

    /// The first of the most severe findings.
    public var worst: Finding? {
        findings.reduce(nil) { worst, finding in
            guard let worst, worst.severity >= finding.severity else { return finding }
            return worst
        }
    }

    /// The severity of the worst finding.
    public var severity: Finding.Severity { worst?.severity ?? .note }

    /// Examines a path, on a separate thread.
    ///
    /// Without findings if the task is cancelled meanwhile.
    ///
    /// - Parameters:
    ///   - path: The path of a server, as for ``FrameServer``.
    ///   - peers: The users whose server is acceptable. Default: this user and root.
    ///   - deadline: The time allowed for a server to accept a connection and see its end. Default: 2 s.
    public init(of path: String, peers: PeerPolicy = .sameUserOrRoot, within deadline: Duration = .seconds(2)) async {
        self.path = path
        let findings = Latch<[Finding]>()
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
        self.findings = (try? await findings.value()) ?? []
    }
}
