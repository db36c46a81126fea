import FrameSocket

/// The sending end of a lane, in the other process.
protocol LaneSender: Sendable {
    /// Connects to the receiver; `path` is what the receiver gave.
    init(_ scenario: LaneScenario, path: String) async throws

    /// Sends frames, one per `interval` nanoseconds or as fast as possible if that is 0, and returns when the first began.
    ///
    /// Every frame arrives. It is submitted after it has been drawn, and before the lane copies anything of it.
    func send(_ frames: Int, interval: UInt64) async throws -> Int64

    /// Closes the lane.
    func close() async throws
}

/// The receiving end of a lane, in this process.
protocol LaneReceiver: Sendable {
    associatedtype Sender: LaneSender

    /// The word by which the other process is told which lane to use.
    static var name: String { get }

    init(_ scenario: LaneScenario) throws

    /// Where the sender connects, if by a path.
    var path: String { get }

    /// The sender's end, if it does not connect by itself. It is closed once the sender has it.
    var senderSocket: Int32? { get }

    /// Waits for the sender, and makes ready what is not measured.
    func connect() async throws

    /// Receives frames, reads `bytesReadPerRow` of each row, and releases them.
    ///
    /// Returns the nanoseconds from when each frame was submitted to when it had been read.
    func receive(_ frames: Int) async throws -> [Int64]
}

/// One way to move frames from one process to another.
struct LaneContender: Sendable {
    /// Starts both ends; the result is nil if the contender cannot do this.
    let prepare: @Sendable (LaneScenario) async throws -> Benchmark.Run?
    /// The word by which the other process is told which lane to use.
    let name: String
    /// Does the other process's part of a lane, until its input ends.
    private let serve: @Sendable (LaneScenario, String) async throws -> Void

    /// Creates a contender whose sender is this program in another process.
    init<Receiver: LaneReceiver>(_: Receiver.Type) {
        name = Receiver.name
        prepare = { scenario in
            let ends = try await LaneEnds<Receiver>(scenario)
            return { try await ends.run() }
        }
        serve = { scenario, path in try await Self.serve(Receiver.Sender(scenario, path: path)) }
    }

    /// Sends as often as it is told to, and answers when it began and how much CPU time a frame took.
    private static func serve(_ sender: some LaneSender) async throws {
        while let words = readLine()?.split(separator: " "), words.count == 2 {
            guard let frames = Int(words[0]), let interval = UInt64(words[1]) else { throw BaselineFailure() }
            var start: Int64 = 0
            let sample = try await measure(frames) { start = try await sender.send(frames, interval: interval) }
            Peer.answer(Double(start), sample[.cpu] ?? 0)
        }
        try await sender.close()
    }

    /// Runs the other process of a lane.
    ///
    /// - Parameter words: The contender, the path, the format, and the mode.
    /// - Throws: `BaselineFailure` for any other words, and what the lane throws.
    static func runPeer(_ words: [String]) async throws {
        guard words.count == 4,
            let contender = LaneBenchmarks.contenders.first(where: { $0.name == words[0] }),
            let format = LaneScenario.Format(rawValue: words[2]),
            let mode = LaneScenario.Mode(rawValue: words[3])
        else { throw BaselineFailure() }
        let scenario = LaneScenario(format: format, mode: mode, interval: 0, frames: 0, bytesReadPerRow: 0)
        try await contender.serve(scenario, words[1])
    }
}
