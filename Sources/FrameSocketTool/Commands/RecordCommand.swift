import FrameSocket
import Locking

/// `framesocket record`: listens at a path and writes the frames of one sender at a time to a Matroska file.
struct RecordCommand: Command {
    static let name = "record"
    static let summary = "record a stream to a Matroska file"
    static let help = """
        Usage: framesocket record PATH FILE [options]

        Listens at PATH, or at tcp:PORT on this machine, and writes the sender's JPEGs
        unchanged, with their times and orientations, to the Matroska file FILE; - is
        standard output. Records until it is stopped. From its first frame on, the file
        is playable however the program ends; before that it is empty.

        While a sender is connected, no other is accepted; a later one continues the
        same file.

          --count N        end after N frames
          --once           end when the first sender of a frame leaves
          --overwrite      replace FILE if it exists; by default that is an error
          --json           print one JSON object per line for each event
        \(HandshakeTokenFiles.help)
          --timeout S      end with exit code 75 unless --count is reached or, with
                           --once, the first sender of a frame has left within S
                           seconds
          --quiet          print nothing but failures on standard error
        """

    let endpoint: SocketEndpoint
    let path: String
    let tokens: HandshakeTokenFiles?
    let count: Int?
    let endsWithSender: Bool
    let overwrites: Bool
    let timeout: Double?
    let isJSON: Bool
    let isQuiet: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        count = try arguments.integer("--count", in: 1...(.max))
        endsWithSender = arguments.flag("--once")
        overwrites = arguments.flag("--overwrite")
        tokens = try arguments.tokens()
        timeout = try arguments.number("--timeout")
        isJSON = arguments.flag("--json")
        isQuiet = arguments.flag("--quiet")
        let rest = try arguments.rest()
        guard rest.count == 2 else {
            throw UsageError(message: "record expects a path to listen at and a file")
        }
        guard !rest[0].hasSuffix(".mkv") || rest[1].hasSuffix(".mkv") else {
            let words = "\(rest[1].shellWord) \(rest[0].shellWord)"
            throw UsageError(message: "record expects the path first, and then the file: record \(words)")
        }
        endpoint = try Arguments.endpoint(rest[0])
        path = rest[1]
        if path == "-" { try Terminal.checkTakesBytes() }
        guard path != "-" || !isJSON else {
            throw UsageError(message: "--json and a recording to standard output are mutually exclusive")
        }
        var files = DistinctFiles()
        try files.add(endpoint)
        try files.add(tokens)
        try files.add(path, as: "FILE")
    }

    func run() async throws(CommandFailure) {
        let recording = Recording(self)
        let holder = Locked<FrameServer?>(nil)
        // Opening a named pipe blocks too.
        let thread = recording.thread
        let outcome: Result<Void, CommandFailure> = await Interruption.around {
            let timer = startTimer(for: recording)
            defer { timer?.cancel() }
            do throws(CommandFailure) {
                let server = try await withPreference(for: thread) { () throws(CommandFailure) in
                    try await listen(recording, holder)
                }
                await recording.report(.listening(at: server.endpoint))
                return await record(from: server, recording, on: thread)
            } catch {
                return .failure(error)
            }
        } end: {
            // The lock waits for a server that is being created, since its socket has to be removed.
            if let server = holder.withLock({ $0 }) {
                server.close()
                try? await server.closed()
            }
            await Interruption.settle()
            await recording.close()
            if Interruption.isInterrupted, let failure = await recording.failure {
                await recording.report(failure)
                Interruption.termination = failure.code
            }
        }
        let loss = await recording.lossFailure
        do throws(CommandFailure) {
            try outcome.get()
        } catch {
            throw CommandFailure(error.code, error.message + (loss.map { "; " + $0.message } ?? ""))
        }
        if let failure = await recording.outputFailure { throw failure }
        if let loss { throw loss }
    }

    private func listen(_ recording: Recording, _ holder: Locked<FrameServer?>) async throws(CommandFailure)
        -> FrameServer
    {
        var configuration = FrameServer.Configuration()
        configuration.tokens = try tokens?.read()
        configuration.log = { recording.reportRefusal($0) }
        // Another sender is turned away before any of its frames is read, so that it knows that none has arrived.
        configuration.limits.maximumConnections = try ProcessLimits.places(1, beside: ProcessLimits.laterDescriptors)
        let settings = configuration
        do {
            // The file comes second: a path that is in use must not cost anybody a file.
            let server = try holder.withLock { holder in
                try Interruption.check()
                let server = try FrameServer(at: endpoint, configuration: settings)
                holder = server
                return server
            }
            try await recording.open()
            return server
        } catch let error as CommandFailure {
            throw error
        } catch let error as TransportError {
            await recording.report(.failed(connection: nil, code: error.code.rawValue, message: error.description))
            throw CommandFailure(ExitCode(error), error.description)
        } catch let error as Files.Failure {
            throw CommandFailure(.cannotCreate, opening: error)
        } catch {
            throw CommandFailure(.cannotCreate, "\(error)")
        }
    }

    /// Ends the recording when its time is over, even if the file is still being opened.
    private func startTimer(for recording: Recording) -> Task<Void, Never>? {
        timeout.map { seconds in
            Task {
                guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
                BlockedCall.hurry()
                let message = "the recording did not end within \(Format.seconds(seconds))"
                await recording.finish(.failure(CommandFailure(.timedOut, message)))
            }
        }
    }

    /// Records until there are enough frames, or until something ends it.
    private func record(
        from server: FrameServer,
        _ recording: Recording,
        on thread: IOThread
    ) async -> Result<Void, CommandFailure> {
        await withTaskGroup(of: Void.self) { group in
            group.addTask(preferring: thread) {
                do {
                    // One after another: the next may connect while frames of one that has left are still written.
                    for try await connection in server.connections { await recording.follow(connection) }
                } catch {
                    await recording.finish(.failure(CommandFailure(.unavailable, "\(error)")))
                }
                // The server has ended, and everything received from it is recorded.
                await recording.finish(.success(()))
            }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1))) != nil { await recording.checkFile() }
            }
            let outcome = await recording.outcome()
            server.close()
            group.cancelAll()
            return outcome
        }
    }
}
