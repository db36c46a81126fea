import Foundation
import FrameSocket
import Synchronization
import TestSupport

/// Rounds of peers, and between them moments at which nobody is connected and this process must have what it had.
final class Soak: Sendable {
    /// How many peers there are at a time.
    private static let slots = 6

    let duration: Duration
    let seed: UInt64
    private let place: String
    private let host: Host
    private let broken = Mutex(0)

    init(duration: Duration, seed: UInt64) throws {
        self.duration = duration
        self.seed = seed
        place = "/tmp/fs-soak-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        host = try Host(at: place + "/s", seed: seed)
    }

    /// Runs the soak; returns false if something went wrong.
    func run() async throws -> Bool {
        defer { try? FileManager.default.removeItem(atPath: place) }
        say("soak: seed \(seed), \(duration.formatted()), \(Self.slots) peers at a time")
        let hosting = Task { await host.run() }
        let start = ContinuousClock.now
        // The first rounds make what stays, in pools and in allocators, and the others must add nothing to it.
        let rounds = max(3, Int((duration / .seconds(60)).rounded()))
        let warmUp = max(1, rounds / 4)
        var first: Resources?
        var latest = Resources.now
        for round in 0..<rounds {
            let end = start + duration * (Double(round + 1) / Double(rounds))
            await runPeers(until: end, round: round)
            latest = await settled(like: first)
            if first == nil, round + 1 >= warmUp { first = latest }
            tell(round: round, latest)
            if let first, let growth = latest.growth(since: first) { host.note("after round \(round): \(growth)") }
        }
        await host.close()
        await hosting.value
        if let growth = first.flatMap({ latest.growth(since: $0) }) { host.note(growth) }
        for fault in host.faults { say("soak: FAULT: \(fault)") }
        return host.faults.isEmpty && broken.withLock { $0 } == 0
    }

    // MARK: Peers

    private func runPeers(until end: ContinuousClock.Instant, round: Int) async {
        await withDiscardingTaskGroup { group in
            for slot in 0..<Self.slots {
                group.addTask { [self] in
                    var random = SplitMix(seed: seed &+ UInt64(round * Self.slots + slot) &* 104_729)
                    while ContinuousClock.now < end {
                        await runPeer(&random, at: end)
                    }
                }
            }
        }
    }

    private func runPeer(_ random: inout SplitMix, at end: ContinuousClock.Instant) async {
        // Half of them honest, whatever the number of ways to lie.
        let honest: [Peer.Kind] = [.video, .images, .talker, .flapper, .doomed, .sharer, .doomedSharer]
        let kinds = random.next() % 2 == 0 ? honest : Peer.Kind.allCases
        guard let kind = kinds.randomElement(using: &random) else { return }
        let left = max(.zero, end - .now) / .seconds(1)
        let seconds = min(left, .random(in: 0.1...8, using: &random))
        let hasTokens = kind == .stranger || random.next() % 4 == 0
        let arguments = Peer.arguments(
            kind,
            at: place + (hasTokens ? "/st" : "/s"),
            hasTokens: hasTokens,
            seed: random.next(),
            seconds: seconds
        )
        do {
            let process = try spawn("/proc/self/exe", arguments, [0, 1, 2])
            if kind.isDoomed {
                try await Task.sleep(for: .seconds(.random(in: 0...seconds, using: &random)))
                kill(process, SIGKILL)
            }
            let status = await ending(of: process)
            if status != 0, !kind.isDoomed { fail("a peer ended with \(status): \(arguments)") }
        } catch {
            fail("\(error)")
        }
    }

    private func ending(of process: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var status: Int32 = 0
                while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
                continuation.resume(returning: status)
            }
        }
    }

    private func fail(_ what: String) {
        broken.withLock { $0 += 1 }
        say("soak: \(what)")
    }

    // MARK: In between

    /// What there is when all have gone; waited for, since the last ones take a moment.
    private func settled(like first: Resources?) async -> Resources {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            if host.openConnections == 0, first.map({ Resources.now.growth(since: $0) == nil }) ?? true { break }
            try? await Task.sleep(for: .milliseconds(50))
        }
        if host.openConnections > 0 { host.note("\(host.openConnections) connections are left over") }
        // Those over the limit, whom the host never sees, are closed at once; a moment for the very last one.
        try? await Task.sleep(for: .milliseconds(200))
        return .now
    }

    private func tell(round: Int, _ resources: Resources) {
        let tally = host.tally.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        let descriptors = resources.descriptors.values.reduce(0, +)
        say("soak: round \(round + 1): \(tally)")
        say("soak: \(resources.memory >> 10) KiB, \(descriptors) descriptors, \(resources.threads) threads")
    }
}
