import FrameSocket
import Locking

/// The server of a command, and what ends it: enough frames, a failure, the time or a signal.
///
/// What arrives is handled on one thread, which the reader of a pipe or whoever opens one may block for as long as it likes. That
/// is back pressure; at the end the thread gets a second, and is then left wherever it is stuck.
final class Listening: Sendable {
    /// How long frames that have arrived may take to be handled after SIGTERM: well below the 90 s after which systemd
    /// kills.
    private static let drainLimit = TimeLimit.of(.seconds(20))
    /// How long the thread may take at the end.
    private static let patience = TimeLimit.of(.seconds(1))

    private struct State {
        var server: FrameServer?
        var signals: [Signals.Signal] = []
        /// Whether nobody reads the frames that have arrived any longer.
        var isOver = false
    }

    /// The thread on which frames are handled: writing may block, and must hold up neither the sockets nor Swift's pool.
    let thread = IOThread()
    private let result = Latch<CommandFailure?>()
    /// Set once there is a result or a signal.
    private let end = Latch<Void>()
    /// Why something could not be written, whether before or after the end.
    private let outputFailure = Latch<CommandFailure>()
    private let state = Locked(State())

    // MARK: The server

    /// Creates the server of a command, whose socket is removed at the end.
    ///
    /// - Parameters:
    ///   - place: Where it listens.
    ///   - tokens: The files with both sides' tokens.
    ///   - reporter: Reports who is refused.
    ///   - descriptors: The number of descriptors that the command needs besides those of every command.
    ///   - configure: Changes the defaults.
    /// - Returns: The server.
    /// - Throws: The failure to listen; one without words once the end has begun.
    func server(
        at place: ListeningPlace,
        _ tokens: HandshakeTokenFiles?,
        _ reporter: Reporter,
        beside descriptors: Int = 0,
        _ configure: (inout FrameServer.Configuration) -> Void
    ) throws(CommandFailure) -> FrameServer {
        var configuration = FrameServer.Configuration()
        configuration.tokens = try tokens?.read()
        configuration.log = { [thread] event in
            // On a thread that reads no sockets, which a blocked output must not hold up.
            if event.isRefusal { Task(preferring: thread) { reporter.report(.refused(event)) } }
        }
        configure(&configuration)
        let places = configuration.limits.maximumConnections
        configuration.limits.maximumConnections = try ProcessLimits.places(places, beside: descriptors)
        func refused(_ code: String, _ failure: CommandFailure) -> CommandFailure {
            reporter.report(.failed(code: code, message: failure.message))
            return failure
        }
        let server: FrameServer?
        do throws(TransportError) {
            server = try state.withLock { state throws(TransportError) in
                if !state.isOver { state.server = try place.server(configuration) }
                return state.server
            }
        } catch {
            throw refused(error.code.rawValue, CommandFailure(error))
        }
        if let server { return server }
        guard !isOver else { throw CommandFailure(.interrupted, "") }
        throw refused("socket.missing", CommandFailure(.noInput, place.complaint))
    }

    /// Handles every sender of a server, several at a time, until the server ends.
    func serve(
        _ server: FrameServer,
        _ follow: @escaping @Sendable (FrameConnection) async -> Void
    ) async throws(CommandFailure) {
        var failure: TransportError?
        await withDiscardingTaskGroup { senders in
            do throws(TransportError) {
                for try await connection in server.connections {
                    senders.addTask { await follow(connection) }
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw CommandFailure(.unavailable, failure.description) }
    }

    /// Leaves the thread, and not only an actor, to whatever waits for it: a fast sender always has another frame, which would keep
    /// all others, and audio and reports, from their turns.
    @concurrent static func giveWay() async { await Task.yield() }

    // MARK: The end

    /// Whether frames are still handled.
    var goesOn: Bool { !result.isSet }

    /// Whether everything is over but the reports.
    private var isOver: Bool { state.withLock { $0.isOver } }

    /// Why the command has failed so far.
    private var failure: CommandFailure? {
        if let failure = outputFailure.value { return failure }
        guard let failure = result.value ?? nil, !failure.message.isEmpty else { return nil }
        return failure
    }

    /// Ends the command, in order unless it has failed; the first call counts.
    ///
    /// A reader of its output that has gone is no failure.
    func finish(_ failure: CommandFailure? = nil) {
        let failure = failure.flatMap { $0.isBrokenPipe ? nil : $0 }
        if let failure, failure.systemError != nil { outputFailure.set(failure) }
        if result.set(failure) { end.set(()) }
    }

    /// Does something again and again until the end.
    func every(_ interval: Duration, _ action: @escaping @Sendable () async -> Void) {
        Task { [self] in
            while (try? await Task.sleep(for: interval)) != nil, !isOver { await action() }
        }
    }

    /// Works on the thread until the work or something else ends, and closes the server.
    ///
    /// - Parameters:
    ///   - seconds: When the time is over.
    ///   - outcome: Why the command has failed then, if it has.
    ///   - termination: The exit code after SIGTERM.
    ///   - work: Listens, and handles connections until the server ends.
    ///   - ending: Called before the server is closed; returns whether what has arrived is handled first after SIGTERM.
    ///   - summary: Reports what there was; returns a failure that counts if there is no other.
    /// - Throws: Why the command has failed, also if it left something unwritten, or a failure without words that has the exit
    ///   code of the signal that ended it.
    func run(
        for seconds: Double? = nil,
        or outcome: @escaping @Sendable () -> CommandFailure? = { nil },
        termination: ExitCode = .interrupted,
        _ work: @escaping @Sendable () async throws(CommandFailure) -> Void,
        ending: () async -> Bool = { false },
        summary: () -> CommandFailure? = { nil }
    ) async throws(CommandFailure) {
        Signals.handle { [self] signal in
            state.withLock { $0.signals.append(signal) }
            end.set(())
        }
        let hasStopped = Latch<Void>()
        Task(preferring: thread) { [self] in
            do throws(CommandFailure) {
                try await work()
                finish()
            } catch {
                finish(error)
            }
            hasStopped.set(())
        }
        if let seconds {
            Task { [self] in
                if (try? await Task.sleep(for: .seconds(seconds))) != nil { finish(outcome()) }
            }
        }
        await end.wait()
        let drains = await ending()
        let (server, signal) = state.withLock { ($0.server, result.value == nil ? $0.signals.first : nil) }
        if drains, signal == .terminate, let server {
            server.drain()
            _ = await Self.wait(atMost: Self.drainLimit) {
                // Ctrl-C waits for no reader.
                result.value != nil || state.withLock { $0.signals.contains(.interrupt) }
            }
            let message = "the drain was cut short: frames that had arrived may be lost"
            finish(CommandFailure(.cannotCreate, message))
        }
        // One that is being created is waited for, since its socket has to be removed.
        let last = state.withLock { state in
            state.isOver = true
            return state.server
        }
        last?.close()
        let isClosed = Latch<Void>()
        Task {
            try? await last?.closed()
            await hasStopped.wait()
            isClosed.set(())
        }
        var blockage: Files.Blockage?
        if await !Self.wait(atMost: Self.patience, until: { isClosed.value != nil }) {
            blockage = await Self.blockage
            if blockage == nil {
                // Senders have a second, too.
                finish()
                _ = await Self.wait(atMost: Self.patience * 2) { isClosed.value != nil }
            } else {
                Terminal.abandonOutput()
            }
        }
        let loss = blockage.flatMap { failure(beside: $0, signal) } ?? failure
        let remark = summary()
        guard var reason = loss ?? outputFailure.value else {
            if let remark { throw remark }
            guard let signal else { return }
            throw CommandFailure(signal == .terminate ? termination : .interrupted, "")
        }
        // Ctrl-C decides on the exit code whatever has failed.
        if signal == .interrupt { reason.status = .interrupted }
        throw reason
    }

    /// What a thread is stuck in.
    private static var blockage: Files.Blockage? {
        get async {
            guard let blockage = Files.blockage else { return nil }
            try? await Task.sleep(for: .milliseconds(20))
            return Files.blockage?.id == blockage.id ? blockage : nil
        }
    }

    /// Why the command has failed, and what its thread has left where it is stuck.
    private func failure(beside blockage: Files.Blockage, _ signal: Signals.Signal?) -> CommandFailure? {
        var loss: CommandFailure?
        if !blockage.isOpening {
            let message = "its reader did not read everything in time; frames that had arrived are lost"
            loss = CommandFailure(.cannotCreate, "\(blockage.name): \(message)")
        } else if signal == nil {
            let message = "not opened in time; is it a pipe that no other program opens?"
            loss = CommandFailure(.timedOut, "\(blockage.name): \(message)")
        }
        guard let failure else { return loss }
        return CommandFailure(failure.code, failure.message + (loss.map { "; " + $0.message } ?? ""))
    }

    /// Waits until something is the case, but not longer than `limit`; returns whether it is.
    private static func wait(atMost limit: Duration, until isTrue: () -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while !isTrue() {
            guard ContinuousClock.now < deadline else { return false }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return true
    }
}

/// Where `framesocket receive` listens.
enum ListeningPlace {
    case at(SocketEndpoint)
    /// A socket that the service manager created and passed: the one with this name, or the only one.
    case passed(name: String?)

    /// Parses the options that concern the place, after all others have been taken.
    init(_ arguments: inout Arguments) throws(UsageError) {
        let isPassed = arguments.flag("--systemd")
        let name = try arguments.value("--socket-name")
        let paths = try arguments.rest()
        if isPassed {
            guard paths.isEmpty else { throw UsageError(message: "--systemd and a path are mutually exclusive") }
            self = .passed(name: name)
            return
        }
        try arguments.require("--systemd", for: "--socket-name")
        guard paths.count == 1, let path = paths.first else {
            throw UsageError(message: "receive expects one path to listen at")
        }
        self = .at(try Arguments.endpoint(path))
    }

    /// Whether a service manager created the socket.
    var isPassed: Bool {
        if case .passed = self { true } else { false }
    }

    /// Starts listening there.
    func server(_ configuration: FrameServer.Configuration) throws(TransportError) -> FrameServer? {
        switch self {
        case .at(let endpoint):
            return try FrameServer(at: endpoint, configuration: configuration)
        case .passed(let name):
            let sockets = try FrameServer.InheritedSocket.passed().filter { name == nil || $0.name == name }
            guard sockets.count == 1, let socket = sockets.first else { return nil }
            return try FrameServer(inheriting: socket, configuration: configuration)
        }
    }

    /// Explains why ``server(_:)`` returned no server.
    var complaint: String {
        let sockets = (try? FrameServer.InheritedSocket.passed()) ?? []
        if sockets.isEmpty {
            if let process = ServiceManager.value("LISTEN_PID").flatMap(Int32.init),
                process != FrameServer.InheritedSocket.processID,
                ServiceManager.value("LISTEN_FDS") != nil
            {
                return "the sockets were passed to process \(process) (LISTEN_PID), and this is process "
                    + "\(FrameServer.InheritedSocket.processID); start the command without a shell, or with exec: sh -c 'exec framesocket …'"
            }
            return
                "no socket was passed (LISTEN_FDS); start the command from a .socket unit or with "
                + "systemd-socket-activate"
        }
        let names = sockets.map { $0.name ?? "?" }.joined(separator: ", ")
        guard case .passed(let name?) = self else {
            return "\(Format.count(sockets.count, "socket")) passed (\(names)); name one with --socket-name"
        }
        let count = sockets.count { $0.name == name }
        let found = count == 0 ? "no socket" : "\(count) sockets"
        return "--socket-name \(name): \(found) passed with this name (\(names))"
    }
}
