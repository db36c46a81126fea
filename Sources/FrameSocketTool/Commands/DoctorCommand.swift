import FrameSocket

/// `framesocket doctor`: says what is wrong with a path, and how it is mended.
struct DoctorCommand: Command {
    static let name = "doctor"
    static let summary = "say what is wrong with a path, and how it is mended"
    /// The diagnosis is the one object that is printed.
    static let reportsFailure = false
    static let help = """
        Usage: framesocket doctor PATH [options]

        Looks at PATH as a server would that is about to listen there, and a sender
        that is about to connect: the path, its directory, what stands there, who
        listens, the limit of descriptors, and the JPEG library. Nothing is changed;
        a server that listens sees a sender that comes and goes.

          --json           print one JSON object
          --timeout S      how many seconds a server may take to answer; default: 2

        The exit code is that of the worst finding: 0 where nothing is wrong, 69 where
        nobody of this user's listens at a socket, 73 where a server cannot listen, 75
        where one does not answer.
        """

    let path: String
    let isJSON: Bool
    let timeout: Double

    init(_ arguments: inout Arguments) throws(UsageError) {
        isJSON = arguments.flag("--json")
        timeout = try arguments.number("--timeout") ?? 2
        let paths = try arguments.rest()
        guard paths.count == 1, let path = paths.first else {
            throw UsageError(message: "doctor wants one path to look at")
        }
        guard case .path = try Arguments.endpoint(path) else {
            throw UsageError(message: "doctor looks at paths, and \(path) is a port")
        }
        self.path = path
    }

    func run() async throws(CommandFailure) {
        let diagnosis = await PathDiagnosis(of: path, within: .seconds(timeout))
        let findings = diagnosis.findings + [JPEGLibrary.finding]
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

    private static func json(_ diagnosis: PathDiagnosis, _ findings: [PathFinding]) -> JSONLine {
        var line = JSONLine(event: "diagnosis")
        line.add("path", diagnosis.path)
        line.add("severity", diagnosis.severity.description)
        line.add("findings", findings.map(\.json))
        return line
    }
}

extension PathFinding {
    /// The finding as scripts read it.
    fileprivate var json: JSONLine {
        var line = JSONLine()
        line.add("code", code.rawValue)
        line.add("severity", severity.description)
        line.add("message", message)
        if let mend { line.add("mend", mend) }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { line.add(name, value) }
        return line
    }

    /// The finding as a person reads it.
    fileprivate var report: String {
        let mark = severity == .note ? "ok" : severity.description
        let first = "\(mark.rightPadded(9))\(message) (\(code))"
        return mend.map { "\(first)\n\("mend:".leftPadded(14)) \($0)" } ?? first
    }
}

extension ExitCode {
    /// How the program ends whose worst finding this is.
    fileprivate init(_ finding: PathFinding) {
        self =
            switch finding.code {
            case .deadSocket, .refusedPeer, .turningServer, .heldLock, .fewDescriptors: .unavailable
            case .silentServer: .timedOut
            default: .cannotCreate
            }
    }
}
