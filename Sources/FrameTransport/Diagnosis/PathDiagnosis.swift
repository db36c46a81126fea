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

extension PathDiagnosis {
    /// A finding of a ``PathDiagnosis``: what it is, and how to fix it.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// The severity of the finding.
        public enum Severity: Int, Sendable, Hashable, Comparable, CustomStringConvertible {
            /// Nothing is wrong.
            case note
            /// It works, or will when a server starts, but deserves attention.
            case warning
            /// Frames cannot get through.
            case failure

            /// `note`, `warning` or `failure`, for logs and scripts.
            public var description: String {
                switch self {
                case .note: "note"
                case .warning: "warning"
                case .failure: "failure"
                }
            }

            /// Returns whether the first is less severe than the second.
            public static func < (first: Severity, second: Severity) -> Bool {
                first.rawValue < second.rawValue
            }
        }

        /// The code of the finding.
        public let code: Code

        /// The severity of the finding.
        public let severity: Severity

        /// A sentence that says what was found.
        public let message: String

        /// The remedy in one line, usually a shell command; nil if there is nothing to do.
        public let remedy: String?

        /// The numbers in the message by name, as described by ``Code``.
        public let values: [String: Int]

        /// The message, followed by the remedy.
        public var description: String {
            remedy.map { "\(message); \($0)" } ?? message
        }

        /// Creates a finding, for a program's own checks in addition to those of ``PathDiagnosis``.
        package init(
            _ code: Code,
            _ severity: Severity,
            _ message: String,
            remedy: String? = nil,
            values: [String: Int] = [:]
        ) {
            self.code = code
            self.severity = severity
            self.message = message
            self.remedy = remedy
            self.values = values
        }
    }
}

extension PathDiagnosis.Finding {
    /// The kind of a finding.
    ///
    /// Later versions may add codes; compare with `==`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// A stable name, for logs and scripts.
        public let rawValue: String

        /// Creates a code from its name; names of a program's own codes should not begin like these.
        package init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable name.
        public var description: String { rawValue }

        // MARK: The path

        /// The path is empty, ends with a slash or contains a NUL byte: `path.invalid`.
        public static let invalidPath = Code("path.invalid")
        /// The path is longer than a socket's path may be; `bytes` and `limit`, and on Linux `nameBytes` and
        /// `nameLimit`.
        public static let pathTooLong = Code("path.tooLong")
        /// The path is longer than the system accepts, and is used by way of its directory's descriptor; `bytes`,
        /// `limit`.
        package static let longPath = Code("path.long")
        /// There is no file at the path.
        package static let freePath = Code("path.free")
        /// The file at the path is a symbolic link, which was not followed.
        package static let symbolicLink = Code("path.symlink")
        /// The file at the path is neither a symbolic link nor a socket.
        public static let notASocket = Code("path.notASocket")
        /// The file at `PATH.lock` is not a lock file of this user.
        package static let unusableLock = Code("path.lockUnusable")
        /// A process holds the lock file beside the path, but no server listens at the path.
        public static let heldLock = Code("path.lockHeld")

        // MARK: The directory

        /// The directory does not exist.
        package static let missingDirectory = Code("directory.missing")
        /// A component of the path is not a directory.
        public static let notADirectory = Code("directory.notADirectory")
        /// This user may not search the directory, or it cannot be opened.
        package static let inaccessibleDirectory = Code("directory.noAccess")
        /// This user may not create files in the directory; `mode`, `uid`.
        package static let readOnlyDirectory = Code("directory.notWritable")
        /// Users other than its owner and root may replace files in the directory; `mode`, `uid`.
        public static let openDirectory = Code("directory.openToOthers")
        /// The directory belongs to a user other than this one and root; `uid`.
        package static let foreignDirectory = Code("directory.ofAnotherUser")

        /// The file system of the directory creates no sockets; `errno`.
        package static let directoryWithoutSockets = Code("directory.noSockets")
        /// The file system of the directory is mounted read-only; `errno`.
        package static let readOnlyFileSystem = Code("directory.readOnly")
        /// The file system of the directory is full, or a quota is used up; `errno`.
        package static let fullFileSystem = Code("directory.full")

        // MARK: The socket

        /// No server listens at the socket, which is mounted at the path and cannot be replaced.
        package static let mountedSocket = Code("socket.mounted")
        /// No server listens at the socket.
        public static let deadSocket = Code("socket.dead")
        /// No server listens at the socket, and it belongs to another user; `uid`.
        package static let foreignSocket = Code("socket.ofAnotherUser")
        /// This user may not connect to the socket; `mode`, `uid`.
        package static let inaccessibleSocket = Code("socket.noAccess")
        /// The socket is a datagram or packet socket, not a stream socket.
        public static let wrongType = Code("socket.wrongType")

        // MARK: The server

        /// A server listens and accepts connections; `pid`, `uid`.
        package static let liveServer = Code("server.live")
        /// A server listens but does not accept connections; `pid` and `uid` if known.
        public static let silentServer = Code("server.noAnswer")
        /// A server listens but closes a new connection before it reads anything; `pid`, `uid`.
        public static let fullServer = Code("server.turnsAway")
        /// The server belongs to a user that the policy refuses; `pid`, `uid`.
        public static let refusedPeer = Code("peer.refused")

        // MARK: The system

        /// Enough descriptors are left; `open`, `limit`, and `pid` of another process.
        public static let descriptors = Code("descriptors.free")
        /// A process has few descriptors left; `open`, `limit`, and `pid` of another process.
        public static let fewDescriptors = Code("descriptors.few")
        /// The system returned an error that has no code of its own; `errno`.
        public static let system = Code("system")
    }
}
