import FrameSocket
import Locking

/// The frames of a Matroska file, which are sent as they were recorded.
struct FileReplay: Cargo {
    let destination: Destination
    let count: Int? = nil
    private let command: ReplayCommand
    private let reporter: Reporter
    private var reader: MatroskaReader
    private var pace: ReplayPace
    /// How often the file is still sent, this time included.
    private var roundsLeft: Int
    /// Whether the file has had no frame so far.
    private var isEmpty = true
    /// The number of the next frame.
    private var number = 0
    private var badFrames = 0
    /// Why the file cannot be read on.
    private var failure: CommandFailure?
    private var connection: SocketConnection?
    /// What went over the connection, and what had before the last frame.
    private var sent = Locked(SentTotals())
    private(set) var sentBeforeLast = SentTotals()

    init(_ command: ReplayCommand, _ input: InputFile, _ reporter: Reporter) throws(CommandFailure) {
        self.command = command
        self.reporter = reporter
        reader = MatroskaReader(input)
        pace = ReplayPace(speed: command.speed)
        roundsLeft = command.loops
        var settings = SocketConnection.Configuration()
        settings.tokens = try command.tokens?.read()
        destination = Destination(command.endpoint, wait: command.wait, settings, reporter)
    }

    mutating func begin(over connection: SocketConnection) -> Passage {
        let sent = Locked(SentTotals())
        (self.connection, self.sent, sentBeforeLast) = (connection, sent, SentTotals())
        return Passage { sent.withLock { $0 } }
    }

    mutating func next() async throws(CommandFailure) -> FrameMessage? {
        while let entry = try nextEntry() {
            pace.advance(to: entry.time)
            pace.wait()
            do throws(CommandFailure) {
                return try message(for: entry)
            } catch {
                // One bad frame costs no other.
                badFrames += 1
                reporter.warn(error.message, always: false)
                try reporter.check()
            }
        }
        return nil
    }

    /// The next frame of the file, which begins again as often as it is to be sent.
    private mutating func nextEntry() throws(CommandFailure) -> MatroskaReader.Entry? {
        while failure == nil, roundsLeft > 0 {
            do throws(CommandFailure) {
                if let entry = try reader.next() {
                    isEmpty = false
                    return entry
                }
                guard !isEmpty else {
                    let cut = reader.isCut ? ": it is cut off before the first" : ""
                    throw CommandFailure(.badData, "\(reader.name) has no frame\(cut)")
                }
                if reader.isCut {
                    let message = "\(reader.name) is cut off after its last frame"
                    reporter.warn(message, code: "file.truncated", always: false)
                }
                pace.rewind()
                roundsLeft -= 1
                if roundsLeft > 0 { (reader, isEmpty) = (MatroskaReader(try command.open()), true) }
            } catch {
                // The frames before that are delivered first.
                failure = error
            }
        }
        return nil
    }

    mutating func send(_ message: FrameMessage) async throws(CommandFailure) -> Handover {
        sentBeforeLast = sent.withLock { $0 }
        do throws(TransportError) {
            try await connection?.send(message)
        } catch {
            // Unless the receiver wants none for now, the connection is about to end.
            if error.code != .paused, error.code != .notWanted { _ = try? await connection?.closed() }
            return .unsent
        }
        sent.withLock { sent in
            sent.frames += 1
            sent.bytes += UInt64(message.jpeg.count)
        }
        return .sent
    }

    func finish() -> Bool { true }

    func end(isOver: Bool) -> Bool { true }

    func check() throws(CommandFailure) {
        if let failure { throw failure }
        guard badFrames == 0 else {
            throw CommandFailure(.badData, "\(Format.count(badFrames, "frame")) could not be sent")
        }
    }

    /// The message that carries a recorded frame; what follows its end marker is cut off, unless this program has recorded it.
    ///
    /// Cameras pad frames, and put two fields into one, which other programs record as they are.
    private mutating func message(for entry: MatroskaReader.Entry) throws(CommandFailure) -> FrameMessage {
        let (orientation, recorded) = OrientationSegment.removed(from: entry.jpeg)
        let jpeg = reader.isOwn ? recorded : PassthroughCheck.trimmed(recorded)
        defer { number += 1 }
        let size = try FrameMessageDecoder.Limits().size(of: jpeg, named: "\(command.file): frame \(number)")
        return FrameMessage(
            jpeg: FrameBytes(jpeg),
            info: FrameInfo(
                bufferSize: size,
                orientation: orientation,
                timestamp: pace.timestamp,
                sequence: UInt64(number)
            )
        )
    }
}
