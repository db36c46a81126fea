import FrameSocket
import Locking

/// Sends the frames of a Matroska file once more.
struct FileReplay {
    private let command: ReplayCommand
    private let sent = Locked((offered: 0, frames: 0, bytes: UInt64(0)))

    init(_ command: ReplayCommand) {
        self.command = command
    }

    func run(_ input: InputFile) async throws(CommandFailure) {
        var settings = SocketConnection.Configuration()
        settings.reopens = false
        settings.tokens = try command.tokens?.read()
        let connection = SocketConnection(to: command.endpoint, configuration: settings)
        let outcome: Result<Void, CommandFailure> = await Interruption.around {
            do throws(CommandFailure) {
                try await open(connection)
                try await send(input, over: connection)
                return .success(())
            } catch {
                return .failure(error)
            }
        } end: { [sent, command] in
            connection.close()
            _ = try? await connection.closed()
            let sent = sent.withLock { $0 }
            command.summarise(frames: sent.frames, bytes: sent.bytes)
        }
        try outcome.get()
    }

    private func open(_ connection: SocketConnection) async throws(CommandFailure) {
        do {
            try await connection.open(within: .seconds(command.wait))
        } catch {
            throw CommandFailure(ExitCode(error), error.description)
        }
    }

    private func send(_ input: InputFile, over connection: SocketConnection) async throws(CommandFailure) {
        var pace = ReplayPace(speed: command.speed)
        var input = input
        for round in 0..<command.loops {
            if round > 0 { input = try command.open() }
            var reader = MatroskaReader(input)
            while let entry = try reader.next() {
                pace.advance(to: entry.time)
                await pace.wait()
                guard try await send(entry, at: pace.timestamp, over: connection) else { return }
            }
            if reader.isCut, !command.isQuiet {
                Terminal.say("framesocket replay: \(input.name) is cut off behind its last frame")
            }
            pace.rewind()
        }
    }

    /// Sends a frame, unless the receiver wants none for now; false where the receiver has ended the connection in order.
    private func send(
        _ entry: MatroskaReader.Entry,
        at timestamp: UInt64,
        over connection: SocketConnection
    ) async throws(CommandFailure) -> Bool {
        let (orientation, jpeg) = OrientationSegment.removed(from: entry.jpeg)
        let number = sent.withLock { sent in
            defer { sent.offered += 1 }
            return sent.offered
        }
        let header: JPEGHeader
        do {
            header = try JPEGHeader(inspecting: jpeg.span)
        } catch {
            throw CommandFailure(.badData, "\(command.file): frame \(number): \(error)")
        }
        let message = FrameMessage(
            jpeg: FrameBytes(copying: jpeg.span),
            bufferSize: BufferSize(width: header.width, height: header.height),
            orientation: orientation,
            timestamp: timestamp,
            sequence: UInt64(number)
        )
        do {
            try await connection.send(message)
        } catch {
            // An orderly end by the receiver is its wish, and no failure.
            if let reason = connection.closeReason, reason.error == nil { return false }
            if error.code == .paused || error.code == .notWanted { return true }
            throw CommandFailure(
                error.code == .sendTimedOut ? .timedOut : .unavailable,
                "\(command.endpoint): \(error)"
            )
        }
        let count = sent.withLock { sent in
            sent.frames += 1
            sent.bytes &+= UInt64(jpeg.count)
            return sent.frames
        }
        if !command.isQuiet { Terminal.showProgress("\(Format.count(count, "frame")) sent") }
        return true
    }
}
