import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Both processes of a lane: the receiving one, which is this, and the sending one.
final class LaneEnds<Receiver: LaneReceiver>: Sendable {
    private let scenario: LaneScenario
    private let receiver: Receiver
    private let sender: ChildProcess

    init(_ scenario: LaneScenario) async throws {
        self.scenario = scenario
        receiver = try Receiver(scenario)
        sender = try ChildProcess(
            ["lane", Receiver.name, receiver.path, scenario.format.rawValue, scenario.mode.rawValue],
            giving: receiver.senderSocket
        )
        // Of two holders of the sender's end, a receiver would not notice that one has ended.
        if let socket = receiver.senderSocket { close(socket) }
        try await receiver.connect()
    }

    /// Moves the scenario's frames, and returns what that took in both processes.
    func run() async throws -> Sample {
        var latencies: [Int64] = []
        let received = try await measure(scenario.frames) {
            sender.write("\(scenario.frames) \(scenario.interval)")
            latencies = try await receiver.receive(scenario.frames)
        }
        let end = Double(MonotonicClock.now())
        let answer = try sender.answer()
        guard answer.count == 2, let receiverCPU = received[.cpu] else { throw BaselineFailure() }
        var sample = Sample([.time: (end - answer[0]) / Double(scenario.frames)])
        sample[.cpu] = answer[1] + receiverCPU
        sample[.senderCPU] = answer[1]
        sample[.receiverCPU] = receiverCPU
        sample.add(latencies: latencies)
        return sample
    }
}
