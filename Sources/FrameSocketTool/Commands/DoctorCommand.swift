import FrameSocket

/// `framesocket doctor`: diagnoses what is wrong with a path and how to fix it.
struct DoctorCommand: Command {
    static let name = "doctor"
    static let summary = "diagnose problems with a path and explain how to fix them"
    /// The diagnosis is the only object that is printed.
    static let reportsFailure = false
    static let help = """
        Usage: framesocket doctor PATH [options]

        Examines PATH as a server that is about to listen there would, and as a sender
        that is about to connect would: the path, its directory, what exists there, who
        listens, the descriptor limit, the JPEG library and shared memory. For a moment,
        a socket is created beside PATH, to try whether that is possible; nothing else
        is changed. A server that listens sees a sender that connects and leaves.

          --json           print one JSON object
          --timeout S      seconds that a server may take to answer (2)

        The exit code is that of the worst finding: 0 if nothing is wrong, 69 if nobody
        listens at a socket owned by you, if a server turns you away or is another
        user's, if another process holds the lock, or if few descriptors are left; 73 if
        a server cannot listen, 75 if a server does not answer.
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
        let diagnosis = await PathDiagnosis(of: path, within: .seconds(timeout))
        let findings = diagnosis.findings + [SharedMemoryCheck.finding, JPEGLibrary.finding]
        do {
            if isJSON {
                try Terminal.print(Self.json(diagnosis, findings).text)
            } else {
                for finding in findings { try Terminal.print(finding.report) }
            }
        } catch {
            guard error.isBrokenPipe else { throw CommandFailure(.cannotCreate, error.message) }
        }
        if let worst = diagnosis.worst, worst.severity > .note {
            throw CommandFailure(ExitCode(worst), "\(path): \(worst.message)")
        }
    }

    private static func json(_ diagnosis: PathDiagnosis, _ findings: [PathDiagnosis.Finding]) -> JSONLine {
        var line = JSONLine(event: "diagnosis")
        line.add("path", diagnosis.path)
        line.add("severity", diagnosis.severity.description)
        line.add("findings", findings.map(\.json))
        return line
    }
}

extension PathDiagnosis.Finding {
    /// The finding as a JSON object.
    fileprivate var json: JSONLine {
        var line = JSONLine()
        line.add("code", code.rawValue)
        line.add("severity", severity.description)
        line.add("message", message)
        if let remedy { line.add("remedy", remedy) }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { line.add(name, value) }
        return line
    }

    /// The finding for a person.
    fileprivate var report: String {
        let mark = severity == .note ? "ok" : severity.description
        let first = "\(mark.rightPadded(9))\(message.visible) (\(code))"
        return remedy.map { "\(first)\n\("remedy:".leftPadded(16)) \($0.visible)" } ?? first
    }
}

extension ExitCode {
    /// The exit code for a diagnosis whose worst finding is this one.
    fileprivate init(_ finding: PathDiagnosis.Finding) {
        self =
            switch finding.code {
            case .deadSocket, .refusedPeer, .fullServer, .heldLock, .fewDescriptors: .unavailable
            case .silentServer: .timedOut
            default: .cannotCreate
            }
    }
}
