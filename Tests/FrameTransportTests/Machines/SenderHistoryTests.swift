import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// A sender's machines through histories that nobody thought of: whatever happens in whatever order.
@Suite(.tags(.computes)) struct SenderHistoryTests {
    @Test(arguments: 0..<40)
    func `everybody is notified once, and nothing is left behind`(seed: UInt64) throws {
        for round in 0..<15 {
            var random = SplitMix(seed: seed &* 1000 &+ UInt64(round))
            var history = History(&random)
            for _ in 0..<100 { history.step(&random) }
            history.end()
            try history.check("seed \(seed), round \(round)")
        }
    }

    /// A bench, and what was done with it.
    private struct History {
        let bench: SenderBench
        private var waiters: [Int] = []
        private var frames: [Int] = []
        private static let tokens = HandshakeTokens(own: [1, 2, 3], expected: [4, 5, 6])

        init(_ random: inout SplitMix) {
            let (reopens, hasTokens) = (Bool.random(using: &random), Bool.random(using: &random))
            bench = SenderBench { settings in
                settings.reopens = reopens
                settings.tokens = hasTokens ? Self.tokens : nil
            }
        }

        mutating func step(_ random: inout SplitMix) {
            switch Int.random(in: 0..<22, using: &random) {
            case 0: bench.change { $0.open(bench) }
            case 1, 2:
                waiters.append(waiters.count)
                bench.open(waiter: waiters.count - 1, seconds: Bool.random(using: &random) ? 1 : nil)
            case 3: if let waiter = waiters.randomElement(using: &random) { abandon(waiter) }
            case 4, 5: bench.attempts.append(attempt(&random))
            case 6: bench.attempts.append(.connected)
            case 7: bench.pass(nanoseconds: .random(in: 0...2 * SenderBench.second, using: &random))
            case 8, 9:
                frames.append(frames.count)
                let message = FrameMessage(body(frames.count, count: .random(in: 0...3000, using: &random)))
                do { try bench.submit(message, ticket: frames.count - 1) } catch { frames.removeLast() }
            case 10: if let frame = frames.last { bench.cancel(frame) }
            case 11, 12: bench.makeRoom(.random(in: 0...2000, using: &random))
            case 13: bench.room = .random(in: 0...1000, using: &random)
            case 14, 15, 16: bench.receive(.bytes(request(&random).encoded()))
            case 17: bench.receive(.bytes(Self.tokens.expected))
            case 18: if Int.random(in: 0..<4, using: &random) == 0 { bench.receive(.end) }
            case 19: if Int.random(in: 0..<4, using: &random) == 0 { bench.receive(.failure(.reset)) }
            case 20:
                let fails = Int.random(in: 0..<4, using: &random) == 0
                bench.writeFailure = fails ? .brokenPipe : nil
            default: if Int.random(in: 0..<8, using: &random) == 0 { close() }
            }
            // What a socket has to say is gone with it.
            if !bench.hasSocket { bench.input = [] }
        }

        private func abandon(_ waiter: Int) {
            bench.change { $0.abandon(waiter: waiter, bench) }
        }

        private func close() {
            bench.change { $0.close(.callEnded, bench) }
        }

        private func attempt(_ random: inout SplitMix) -> SenderBench.Attempt {
            switch Int.random(in: 0..<40, using: &random) {
            case 0: .unusable(TransportError(.invalidPath, "no path"))
            case 1: .refused(TransportError(.peerRefused, "somebody else's"))
            case 2..<10: .failed(.noEntry)
            case 10..<14: .connectedToItself
            case 14..<20: .hanging
            default: .connected
            }
        }

        private func request(_ random: inout SplitMix) -> ControlRequest {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<6:
                .hello(ControlRequest.Hello(wants: ControlRequest.Wants(rawValue: .random(in: 0...3, using: &random))))
            case 6..<9: .pause
            case 9..<12: .resume
            case 12..<15: .ping(.random(in: 0...9, using: &random))
            case 15..<17: .prefer(ControlRequest.Preferences(quality: 50))
            case 17..<19: .refresh
            default: .stop(.superseded)
            }
        }

        /// Ends everything, and gives every limit the time to pass.
        mutating func end() {
            close()
            bench.runTurns()
            bench.pass(seconds: 100)
        }

        func check(_ place: Comment) throws {
            #expect(bench.ends.count == 1, place)
            for waiter in waiters { #expect(bench.openings[waiter]?.count == 1, place) }
            for frame in frames { #expect(bench.frames[frame]?.count == 1, place) }
            #expect(!bench.hasSocket && !bench.watchesRoom && bench.deadline == nil && !bench.wantsTurn, place)
            #expect(bench.machine.waitingCount == 0, place)
            #expect(bench.lane.connection == bench.machine.terms.connection, place)
            #expect(bench.lane.queueCount == 0 && !bench.lane.isWriting && !bench.lane.hasFrame, place)
            #expect(bench.terms.map(\.revision) == (0..<bench.terms.count).map { UInt64($0 + 1) }, place)
            // Connections open and close in turns, and what has ended for good stays so.
            let opened = bench.beginningsAndEnds.count { $0 == .connected }
            let ended = bench.beginningsAndEnds.count - opened
            #expect(ended == opened || ended == opened + 1, place)
            switch bench.states.last {
            case .ended: break
            default: Issue.record("the last state is \(String(describing: bench.states.last))")
            }
        }
    }
}
