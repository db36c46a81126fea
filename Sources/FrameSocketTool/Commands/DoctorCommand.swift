import FrameSocket

/// `framesocket doctor`: finds out why no frames arrive at a path, and says how to fix it.
struct DoctorCommand: Command {
    static let name = "doctor"
    static let summary = "diagnose problems with a path and explain how to fix them"
    /// The diagnosis is the only object that is printed.
    static let reportsFailure = false
    static let help = """
        Usage: framesocket doctor PATH [options]

        Connects to PATH as a sender does and leaves again. If nobody listens there, it
        tries to listen as a receiver does, at another name in the same directory, for a
        moment; nothing else is changed. It prints what either would say, and what the
        limit on descriptors and shared memory allow.

          --json           print one JSON object
          --timeout S      seconds that a server may take to answer (2)

        The exit code is 0 if nothing is wrong, 69 if nobody listens at a socket of
        yours, if a server turns you away or is another user's, if another process holds
        the lock, or if few descriptors are left; 73 if a server cannot listen or be
        connected to, 75 if a server does not answer.

        Examples:
          framesocket doctor /run/user/1000/frames
        """

    let path: String
    let isJSON: Bool
    let timeout: Double

    init(_ arguments: inout Arguments) throws(UsageError) {
        isJSON = arguments.flag("--json")
        timeout = try arguments.number("--timeout") ?? 2
        let paths = try arguments.rest(acceptsEmpty: true)
        guard paths.count == 1, let path = paths.first else {
            throw UsageError(message: "doctor expects one path")
        }
        guard case .path = try Arguments.endpoint(path) else {
            throw UsageError(message: "invalid path '\(path)': doctor examines paths, not ports")
        }
        self.path = path
    }

    func run() async throws(CommandFailure) {
        var findings = [await examine()]
        if findings[0].severity != .failure, path.utf8.count > Self.addressBytes { findings.append(longPath) }
        if let shortage = Self.shortage { findings.append(shortage) }
        // The first of the most severe. Everything works without shared memory.
        let worst = findings.max { $0.severity.rawValue < $1.severity.rawValue } ?? findings[0]
        findings.append(Self.sharing)
        do {
            if isJSON {
                let line: JSONLine = [
                    "event": "diagnosis", "path": path, "severity": "\(worst.severity)",
                    "findings": findings.map(\.json),
                ]
                try Terminal.print(line.text)
            } else {
                for finding in findings { try Terminal.print(finding.report) }
            }
        } catch {
            guard error.isBrokenPipe else { throw error }
        }
        if worst.severity != .note { throw CommandFailure(worst.exitCode, "\(path): \(worst.message)") }
    }

    // MARK: The path

    /// Connects as a sender does, and if nobody listens claims the path as a receiver does.
    private func examine() async -> Finding {
        do throws(TransportError) {
            // Before it connects: a link is not followed, since no server listens where it is.
            try FrameServer.checkPlace(at: path)
        } catch {
            return Finding(error)
        }
        var configuration = SocketConnection.Configuration()
        configuration.reopens = false
        // For how long the server's end is waited for is decided here.
        configuration.linger = .seconds(1_000_000_000)
        let connection = SocketConnection(path: path, configuration: configuration)
        let absence: TransportError
        do throws(TransportError) {
            return try await visit(connection)
        } catch {
            guard error.underlyingErrno == ENOENT || error.underlyingErrno == ECONNREFUSED else {
                return Finding(error, peer: connection.peer)
            }
            absence = error
        }
        do throws(TransportError) {
            try FrameServer.tryClaim(at: path)
        } catch {
            return Finding(error)
        }
        guard absence.underlyingErrno == ENOENT else { return Finding(absence, .warning) }
        return Finding(
            .note,
            "path.free",
            "nothing exists at the path: a server can listen here, and senders wait for one"
        )
    }

    /// Connects, waits a moment to see whether the server ends the connection, and ends it.
    private func visit(_ connection: SocketConnection) async throws(TransportError) -> Finding {
        let limit = Duration.seconds(min(timeout, 1e9))
        let deadline = ContinuousClock.now + limit
        do throws(TransportError) {
            try await connection.open(within: .zero)
        } catch  where error.underlyingErrno == EAGAIN {
            try await connection.open(within: limit)
        }
        let server = connection.peer.map { "process \($0.processID) of user \($0.userID)" } ?? "a server"
        // One that accepts the connection has no reason to end it before this side does.
        if await hasEnded(connection, within: min(.milliseconds(300), (deadline - .now) / 2)) {
            return Finding(
                .failure,
                "server.turnsAway",
                "\(server) listens, but closes a new connection before reading anything: it has no free slot, or does not "
                    + "admit you (user \(geteuid()))",
                remedy: "wait until a sender has left, or run both ends as the same user",
                peer: connection.peer,
                .unavailable
            )
        }
        connection.close()
        guard await hasEnded(connection, within: deadline - .now) else {
            let process = connection.peer.map { "ps -o pid,stat,wchan,args -p \($0.processID)" } ?? "ss -xlp"
            return Finding(
                .failure,
                "server.noAnswer",
                "\(server) listens, but within \(limit) it has either not accepted a connection, or not closed it after "
                    + "this side did",
                remedy: "find out whether it is stopped, busy or out of descriptors: \(process)",
                peer: connection.peer,
                .timedOut
            )
        }
        return Finding(.note, "server.live", "\(server) listens and accepts connections", peer: connection.peer)
    }

    private func hasEnded(_ connection: SocketConnection, within limit: Duration) async -> Bool {
        let end = Task { try await connection.closed() }
        let timer = Task {
            try await Task.sleep(for: limit)
            end.cancel()
        }
        defer { timer.cancel() }
        return (try? await end.value) != nil
    }

    // MARK: Limits

    /// The maximum length of a path in a socket's address.
    private static let addressBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    private var longPath: Finding {
        Finding(
            .note,
            "path.long",
            "the path has \(path.utf8.count) bytes, more than the \(Self.addressBytes) of a socket's address; only programs that "
                + "go through the descriptor of its directory, as this one does, can reach it"
        )
    }

    /// Says that a receiver started here would admit fewer senders than usual; nil if it would not.
    private static var shortage: Finding? {
        let wanted = FrameServer.Limits().maximumConnections
        let places = (try? ProcessLimits.places(wanted)) ?? 0
        guard places < wanted else { return nil }
        return Finding(
            .warning,
            "descriptors.few",
            "the limit on descriptors leaves a receiver that is started here room for \(places) of \(wanted) senders",
            remedy: "raise the limit: ulimit -n 1024 before it starts, or LimitNOFILE=1024 in its unit",
            .unavailable
        )
    }

    /// Whether images can be sent in shared memory on this system.
    private static var sharing: Finding {
        let code = "memory.shared"
        guard SharedMemory.isSupported else {
            return .init(.note, code, "this system has no sealed memory: images are always sent as JPEGs")
        }
        do {
            _ = try SharedMemory(byteCount: 4096)
            return .init(.note, code, "images can be sent in shared memory (--shared)")
        } catch {
            return .init(
                .warning,
                code,
                "no memory can be shared (\(error)): images are sent as JPEGs",
                remedy: "raise the limits on memory, descriptors and file sizes; allow memfd_create if it is forbidden"
            )
        }
    }
}

extension DoctorCommand {
    /// What was found, and how to fix it.
    struct Finding {
        enum Severity: Int {
            /// Nothing is wrong.
            case note
            /// It works, or will when a server starts, but deserves attention.
            case warning
            /// Frames cannot get through.
            case failure
        }

        let severity: Severity
        let code: String
        let message: String
        let remedy: String?
        private(set) var numbers: [(name: String, value: Int)]
        let exitCode: ExitCode

        init(
            _ severity: Severity,
            _ code: String,
            _ message: String,
            remedy: String? = nil,
            peer: PeerPolicy.Credentials? = nil,
            _ exitCode: ExitCode = .done
        ) {
            (self.severity, self.code, self.message, self.remedy) = (severity, code, message, remedy)
            numbers = peer.map { [("pid", Int($0.processID)), ("uid", Int($0.userID))] } ?? []
            self.exitCode = exitCode
        }

        /// What a sender or a receiver would say.
        init(_ error: TransportError, _ severity: Severity = .failure, peer: PeerPolicy.Credentials? = nil) {
            let exitCode: ExitCode =
                switch error.underlyingErrno {
                case nil, ECONNREFUSED: ExitCode(error)
                case EAGAIN: .timedOut
                // A sender would wait, but no server can be there.
                default: .cannotCreate
                }
            let message = error.cause.map { "\(error.problem) (\($0))" } ?? error.problem
            self.init(severity, error.code.rawValue, message, remedy: error.remedy, peer: peer, exitCode)
            if let error = error.underlyingErrno { numbers.append(("errno", Int(error))) }
        }

        /// The finding as a JSON object.
        var json: JSONLine {
            var line: JSONLine = ["code": code, "severity": "\(severity)", "message": message, "remedy": remedy]
            for (name, value) in numbers { line.add(name, value) }
            return line
        }

        /// The finding for a person.
        var report: String {
            let mark = severity == .note ? "ok" : "\(severity)"
            let first = "\(mark.rightPadded(9))\(message.visible) (\(code))"
            return remedy.map { "\(first)\n         remedy: \($0.visible)" } ?? first
        }
    }
}
