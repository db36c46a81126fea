import FrameSocketTesting
import FrameTransport
import Locking
import TestSupport
import Testing

@testable import FrameSocket

/// Difficulties begin and end with hysteresis.
@Suite(.timeLimit(.minutes(5))) struct ConditionTests {
    private static let second: UInt64 = 1_000_000_000

    /// Shows P345.
    @Test(arguments: [SampleUploader.Conditions.receiverSlow, .budgetLow, .encoderSlow])
    func `a difficulty begins when it is met for a second, and ends when it is not met for two`(
        condition: SampleUploader.Conditions
    ) {
        var watch = ConditionWatch()
        var seen: [SampleUploader.Conditions] = []
        for tick in 0...10 {
            let now = 10 * Self.second + UInt64(tick) * Self.second / 10
            watch.note(condition, at: now)
            seen.append(watch.update(at: now))
        }
        #expect(seen.dropLast().allSatisfy(\.isEmpty) && seen.last == condition)
        #expect(watch.deadline == 13 * Self.second)
        #expect(watch.update(at: 13 * Self.second - 1) == condition)
        #expect(watch.update(at: 13 * Self.second) == [])
        #expect(!watch.isActive && watch.deadline == nil)
    }

    /// Shows P345.
    @Test func `a single difficulty is none`() {
        var watch = ConditionWatch()
        watch.note(.receiverSlow, at: Self.second)
        #expect(watch.update(at: Self.second) == [])
        #expect(watch.update(at: 3 * Self.second) == [])
        watch.note(.receiverSlow, at: 6 * Self.second)
        #expect(watch.update(at: 6 * Self.second) == [])
        // What is met again after a long pause begins anew.
        watch.note(.receiverSlow, at: 9 * Self.second)
        #expect(watch.update(at: 9 * Self.second) == [])
    }

    // MARK: In an uploader

    @Test func `frames that wait for the encoder, the receiver or the budget are told apart`() {
        var rig = UploaderRig()
        rig.run([.connect, .encoding(false), .offer(0), .encodingBegins])
        for number in 1...30 { rig.run([.offer(UInt8(number)), .wait(50)]) }
        rig.run([.offer(31), .offer(32)])
        #expect(rig.machine.statistics.conditions == .encoderSlow)
        rig.run([.encoding(true), .wait(3_000)])
        #expect(rig.machine.statistics.conditions == [])
        rig.run([.sending(false)])
        for number in 40...70 { rig.run([.offer(UInt8(number)), .wait(50)]) }
        #expect(rig.machine.statistics.conditions == .receiverSlow)
        rig.run([.sending(true), .wait(5_000)])
        #expect(rig.machine.statistics.conditions == [])

        var limited = UploaderRig(.init(quality: 30, adaptation: .init(maximumByteRate: 1_000)))
        limited.run([.connect])
        for number in 1...30 { limited.run([.offer(UInt8(number), bytes: 500), .wait(50)]) }
        #expect(limited.machine.statistics.conditions == .budgetLow, "\(limited.machine.statistics)")
        limited.run([.wait(4_000)])
        #expect(limited.machine.statistics.conditions == [])
    }

    /// Shows P345.
    @Test func `a maximum does not suffice for as long as the last image is held back`() {
        var rig = UploaderRig(.init(quality: 30, adaptation: .init(maximumByteRate: 2_000)))
        rig.run([.connect])
        for number in 1...30 { rig.run([.offer(UInt8(number), bytes: 20_000), .wait(50)]) }
        #expect(rig.machine.statistics.conditions == .budgetLow)
        rig.run([.wait(4_000)])
        #expect(rig.machine.statistics.conditions == .budgetLow && rig.machine.statistics.sent == 1)
        rig.run([.wait(20_000)])
        #expect(rig.machine.statistics.conditions == [] && rig.machine.statistics.sent > 1)
    }

    @Test func `a frame that ends late after its connection is no difficulty, and needs no timer`() {
        var rig = UploaderRig()
        rig.run([.connect, .sending(false), .offer(1), .wait(300), .close])
        let count = rig.timerCount
        rig.run([.messageIsOut])
        #expect(rig.machine.statistics.conditions == [] && rig.timerCount == count)
    }

    /// Shows P345.
    @Test func `a program's log is told of a slow receiver, and of its end`() async throws {
        let log = Locked<[TransportEvent]>([])
        let receiver = try RawReceiver { configuration in
            configuration.linger = .zero
            configuration.log = { event in log.withLock { $0.append(event) } }
        }
        let visit = try await receiver.accept()
        let uploader = receiver.uploader
        let offering = Task {
            var seed = 0
            while !Task.isCancelled {
                uploader.offer(seed, count: 400_000)
                seed += 1
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
        // A machine that is busy may have other difficulties too, and this one may come and go.
        let levels: @Sendable () -> [TransportEvent.Level] = {
            log.withLock { events in events.filter { $0.code == .receiverSlow }.map(\.level) }
        }
        #expect(await becomesTrue { levels().last == .warning })
        #expect(log.withLock { $0.contains { $0.message == "the receiver takes less than is sent" } })
        offering.cancel()
        _ = await offering.value
        visit.socket.close()
        #expect(await becomesTrue { levels().last == .info })
        receiver.uploader.connection.close()
    }
}
