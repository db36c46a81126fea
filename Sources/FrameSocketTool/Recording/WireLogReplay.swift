import FrameSocket
import Locking

/// Sends the bytes of a wire log again, each of its connections over one of its own.
struct WireLogReplay: Replay {
    private struct Totals {
        var connections = 0
        var broken = 0
        var bytes: UInt64 = 0
    }

    private let command: ReplayCommand
    private let path: String
    private let events: EventOutput
    private let totals = Locked(Totals())

    init(_ command: ReplayCommand, _ path: String, _ events: EventOutput) {
        self.command = command
        self.path = path
        self.events = events
    }

    /// Does nothing: after a signal, the system closes the sockets.
    func close() async {}

    var event: JSONLine {
        let totals = totals.withLock { $0 }
        var line = JSONLine(event: "sent")
        line.add("bytes", totals.bytes)
        line.add("connections", totals.connections)
        line.add("broken", totals.broken)
        return line
    }

    var sentence: String {
        let totals = totals.withLock { $0 }
        let text = "sent \(Format.bytes(totals.bytes)) over \(Format.count(totals.connections, "connection"))"
        return totals.broken > 0 ? text + ", \(totals.broken) closed by the server" : text
    }

    func send(_ input: InputFile) async throws(CommandFailure) {
        var pace = ReplayPace(speed: command.speed)
        var input = input
        for round in 0..<command.loops {
            if round > 0 { input = try command.open() }
            var reader = try WireLogReader(input)
            var sockets: [UInt32: PlainSocket] = [:]
            var opened: Set<UInt32> = []
            var isEmpty = true
            do throws(CommandFailure) {
                while let record = try reader.next() {
                    isEmpty = false
                    pace.advance(to: record.time)
                    await pace.wait()
                    switch record.kind {
                    case .opened:
                        opened.insert(record.connection)
                        sockets[record.connection] = try await connect()
                    case .bytes:
                        guard opened.contains(record.connection) else { throw unopened(record.connection, in: input) }
                        try await send(record, &sockets)
                    case .closed: try end(record.connection, sockets.removeValue(forKey: record.connection))
                    }
                }
            } catch {
                // What was sent arrives, unless servers do not read.
                if error.code != .timedOut { try? end(sockets) }
                throw error
            }
            // Connections that were open when the log ended end with it.
            try end(sockets)
            if reader.isCut { command.reportCut(input, after: "record", to: events) }
            // However often, nothing would be sent.
            if isEmpty { return }
            pace.rewind()
        }
    }

    private func unopened(_ connection: UInt32, in input: InputFile) -> CommandFailure {
        CommandFailure(.badData, "\(input.name): bytes of connection \(connection), which was never opened")
    }

    private func end(_ sockets: [UInt32: PlainSocket]) throws(CommandFailure) {
        for (connection, socket) in sockets { try end(connection, socket) }
    }

    private func end(_ connection: UInt32, _ socket: PlainSocket?) throws(CommandFailure) {
        if try socket?.end() == false { reportBroken(connection) }
    }

    /// Counts a connection that the server closed before it had read everything.
    private func reportBroken(_ connection: UInt32) {
        totals.withLock { $0.broken += 1 }
        let message = "\(path): the server closed the connection before it had read everything"
        events.print(JSONLine(errorCode: "connection.lost", message, connection: connection))
    }

    /// Connects as soon as somebody listens.
    private func connect() async throws(CommandFailure) -> PlainSocket {
        let socket = try await connect(until: ContinuousClock.now + .seconds(command.wait))
        totals.withLock { $0.connections += 1 }
        return socket
    }

    private func connect(until deadline: ContinuousClock.Instant) async throws(CommandFailure) -> PlainSocket {
        do throws(TransportError) {
            let socket = try await reach(until: deadline)
            try socket.checkPeer()
            return socket
        } catch {
            throw CommandFailure(ExitCode(error), error.description)
        }
    }

    private func reach(until deadline: ContinuousClock.Instant) async throws(TransportError) -> PlainSocket {
        while true {
            do throws(TransportError) {
                return try PlainSocket(to: path)
            } catch {
                guard error.isForLater else { throw error }
                guard ContinuousClock.now < deadline else {
                    throw TransportError(
                        .noServer,
                        path: path,
                        underlyingErrno: error.underlyingErrno,
                        "no server was reached within \(Format.seconds(command.wait)); is one running, for the same "
                            + "user, at this path?"
                    )
                }
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Sends what was read; a server that rejects it closes that connection, and the others go on.
    private func send(
        _ record: WireLog.Record,
        _ sockets: inout [UInt32: PlainSocket]
    ) async throws(CommandFailure) {
        guard var socket = sockets[record.connection], let first = record.bytes.first else { return }
        var rest = record.bytes[...]
        if !socket.isAdmitted {
            let deadline = ContinuousClock.now + .seconds(command.wait)
            while try await !socket.offer(first) {
                guard ContinuousClock.now < deadline else {
                    throw CommandFailure(.unavailable, ServerLink.refusal(by: path, for: command.wait))
                }
                try? await Task.sleep(for: .milliseconds(100))
                socket = try await connect(until: deadline)
                sockets[record.connection] = socket
            }
            rest = rest.dropFirst()
        }
        if try socket.write(Array(rest)) {
            totals.withLock { $0.bytes &+= UInt64(record.bytes.count) }
        } else {
            sockets[record.connection] = nil
            reportBroken(record.connection)
        }
    }
}

extension TransportError {
    /// Whether the system refused to connect for a reason that may change, and not for lack of descriptors or memory.
    fileprivate var isForLater: Bool {
        code == .system && ![EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(underlyingErrno)
    }
}
