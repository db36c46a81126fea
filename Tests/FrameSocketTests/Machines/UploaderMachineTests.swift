import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

private let skipping = SampleUploader.Configuration(pacing: .everyFrame.skippingUnchanged(keepAlive: .seconds(1)))
private let skippingForGood = SampleUploader.Configuration(pacing: .everyFrame.skippingUnchanged(keepAlive: nil))

/// The uploader's decisions, without a socket, an encoder or a clock.
@Suite(.tags(.computes)) struct UploaderMachineTests {
    // MARK: One frame after the other

    static let turns: [UploaderCase] = [
        UploaderCase("frames go out in their order", [.connect, .offer(1), .offer(2), .offer(3)], sends: [1, 2, 3]),
        UploaderCase(
            "a newer frame takes the place of the one that waits for the encoder",
            [.connect, .encoding(false), .offer(1), .offer(2), .offer(3), .encoding(true), .wait(0)],
            sends: [3],
            drops: [.superseded: 2]
        ),
        UploaderCase(
            "a newer frame takes the place of the one that waits for the connection",
            [.connect, .sending(false), .offer(1), .offer(2), .offer(3), .sending(true), .wait(0)],
            sends: [1, 3],
            drops: [.superseded: 1]
        ),
        UploaderCase(
            "a frame that cannot be encoded costs only itself",
            [.connect, .encodingFails, .offer(1), .offer(2)],
            sends: [2],
            drops: [.encodingFailed: 1]
        ),
        UploaderCase(
            "the frame after one that cannot be encoded is sent whatever the pacing",
            .init(pacing: .framesPerSecond(0.001)),
            [.connect, .encodingFails, .offer(1), .offer(2), .offer(3)],
            sends: [2],
            drops: [.encodingFailed: 1, .paced: 1]
        ),
        UploaderCase(
            "after the end of the connection nothing is held",
            [.connect, .offer(1), .disconnect, .close, .offer(2), .connect, .offer(3)],
            sends: [1, 3],
            drops: [.notConnected: 1]
        ),
    ]

    /// Shows P74.
    @Test(arguments: turns)
    func `one frame is under way at a time, and the newest is next`(_ example: UploaderCase) {
        example.check()
    }

    // MARK: The latest frame

    static let latest: [UploaderCase] = [
        UploaderCase(
            "a frame after which one could not be encoded",
            [.connect, .offer(1), .encodingFails, .offer(2), .refresh, .disconnect, .connect],
            sends: [1, 1, 1],
            repeats: 2,
            drops: [.encodingFailed: 1]
        ),
        UploaderCase(
            "a refresh during the encoding of a frame that fails",
            [.connect, .offer(1), .encodingFails, .encoding(false), .offer(2), .refresh, .encoding(true), .wait(0)],
            sends: [1, 1],
            repeats: 1,
            drops: [.encodingFailed: 1]
        ),
        UploaderCase(
            "a frame offered before the connection",
            [.offer(1), .offer(2), .connect],
            sends: [2],
            drops: [.notConnected: 1]
        ),
        UploaderCase(
            "a connection gets what was sent to the one before",
            [.connect, .offer(1), .disconnect, .connect],
            sends: [1, 1],
            repeats: 1
        ),
        UploaderCase(
            "a reconnection that nobody offers a frame in",
            skipping,
            [.connect, .offer(1), .disconnect, .connect, .offer(2, shows: 1)],
            sends: [1, 1],
            repeats: 1,
            drops: [.unchanged: 1]
        ),
        UploaderCase(
            "connecting and a hello are one cause",
            [.offer(1), .connect, .hello(wantsFrames: true), .wait(5000)],
            sends: [1]
        ),
        UploaderCase(
            "a hello owes nothing to a receiver that has a frame",
            [.connect, .offer(1), .hello(wantsFrames: true), .hello(wantsFrames: true)],
            sends: [1]
        ),
        UploaderCase("a refresh", [.connect, .offer(1), .refresh, .wait(5000)], sends: [1, 1], repeats: 1),
        UploaderCase("two refreshes", [.connect, .offer(1), .refresh, .refresh], sends: [1, 1, 1], repeats: 2),
        UploaderCase(
            "several refreshes while a frame is being sent are one cause",
            [.connect, .sending(false), .offer(1), .refresh, .refresh, .request, .sending(true), .wait(0)],
            sends: [1, 1],
            repeats: 1
        ),
        UploaderCase(
            "a refresh that the frame being encoded answers",
            [.connect, .encoding(false), .offer(1), .refresh, .encoding(true), .wait(0)],
            sends: [1]
        ),
        UploaderCase("a request by the program", [.connect, .offer(1), .request], sends: [1, 1], repeats: 1),
        UploaderCase("a resume", [.connect, .offer(1), .pause, .resume], sends: [1, 1], repeats: 1),
        UploaderCase(
            "a resume that is repeated",
            [.connect, .offer(1), .pause, .resume, .resume],
            sends: [1, 1],
            repeats: 1
        ),
        UploaderCase(
            "nothing during a pause",
            [.connect, .offer(1), .pause, .refresh, .request, .wait(5000)],
            sends: [1]
        ),
        UploaderCase(
            "the newest frame of a pause",
            [.connect, .offer(1), .pause, .offer(2), .offer(3), .resume],
            sends: [1, 3],
            drops: [.paused: 1]
        ),
        UploaderCase(
            "frames are wanted again",
            [.connect, .hello(wantsFrames: false), .offer(1), .offer(2), .hello(wantsFrames: true)],
            sends: [2],
            drops: [.notWanted: 1]
        ),
        UploaderCase(
            "a pause takes back what waits",
            [.connect, .sending(false), .offer(1), .offer(2), .pause, .sending(true), .wait(0), .resume],
            sends: [1, 2]
        ),
        UploaderCase(
            "a pause holds for what is being encoded",
            [.connect, .encoding(false), .offer(1), .pause, .encoding(true), .wait(0), .resume],
            sends: [1]
        ),
        UploaderCase(
            "a frame whose sending fails goes to the next receiver",
            [
                .connect, .sending(false), .offer(1), .sendingFails(.connectionLost), .disconnect, .sending(true),
                .connect,
            ],
            sends: [1, 1]
        ),
        UploaderCase(
            "a frame whose sending fails gives way to a newer one",
            [
                .connect, .sending(false), .offer(1), .offer(2), .sendingFails(.connectionLost), .disconnect,
                .sending(true), .connect,
            ],
            sends: [1, 2],
            drops: [.connectionLost: 1]
        ),
        UploaderCase(
            "a repeat that fails is owed to the next receiver",
            [
                .connect, .offer(1), .sending(false), .refresh, .sendingFails(.connectionLost), .disconnect,
                .sending(true), .connect,
            ],
            sends: [1, 1, 1],
            repeats: 1
        ),
        UploaderCase(
            "a reconnection that is known before the failure",
            [
                .connect, .sending(false), .offer(1), .disconnect, .connect, .sendingFails(.connectionLost),
                .sending(true), .wait(0),
            ],
            sends: [1, 1]
        ),
        UploaderCase(
            "another sender on the connection is waited for",
            [.connect, .sending(false), .offer(1), .sendingFails(.superseded), .sending(true), .wait(99), .wait(1)],
            sends: [1, 1]
        ),
    ]

    /// Shows P42, P60, P61, P62, P63, P64, P66, P77, P80.
    @Test(arguments: latest)
    func `whoever needs the latest frame gets it at once, and once`(_ example: UploaderCase) {
        example.check()
    }

    @Test func `a failed attempt is not retried before the conditions change or some time has passed`() {
        var rig = UploaderRig()
        rig.run([
            .connect, .sending(false), .offer(1), .sendingFails(.notConnected), .sending(true), .offer(2), .wait(99),
        ])
        #expect(rig.submitted == [1])
        rig.run([.disconnect, .connect])
        #expect(rig.submitted == [1, 2])
    }

    /// Why no frame may be sent, how that ends, and what the caller is told meanwhile.
    static let obstacles: [(UploaderRig.Step, UploaderRig.Step, SampleUploader.DropCause)] = [
        (.disconnect, .connect, .notConnected), (.pause, .resume, .paused),
        (.hello(wantsFrames: false), .hello(wantsFrames: true), .notWanted),
        (.update(.init(pacing: .framesPerSecond(2))), .wait(500), .paced),
    ]

    /// Shows P66, P75.
    @Test(arguments: obstacles.indices)
    func `a frame is deferred for its cause, and of several the newest is sent when that ends`(index: Int) {
        let (begins, ends, cause) = Self.obstacles[index]
        var rig = UploaderRig()
        rig.run([.connect, .offer(0), begins, .offer(1), .offer(2), .offer(3), ends])
        #expect(rig.outcomes == [.taken] + [SampleUploader.Outcome](repeating: .deferred(cause), count: 3))
        #expect(rig.submitted.last == 3 && rig.submitted.first == 0)
        #expect(rig.machine.statistics.drops == [cause: 2] && rig.machine.statistics.sent == 2)
    }

    @Test func `a connection that has ended for good defers nothing, and an unchanged frame is not deferred`() {
        var rig = UploaderRig(skippingForGood)
        rig.run([.connect, .offer(1), .offer(2, shows: 1), .close, .offer(3)])
        #expect(rig.outcomes == [.taken, .dropped(.unchanged), .dropped(.notConnected)])
    }

    /// Shows P65.
    @Test func `a repeat keeps its number, timestamp and orientation`() throws {
        var rig = UploaderRig()
        rig.run([.connect, .offer(1), .offer(2), .wait(7), .refresh, .disconnect, .wait(3), .connect, .offer(3)])
        #expect(rig.submitted == [1, 2, 2, 2, 3])
        #expect(rig.messages.map(\.sequence) == [0, 1, 1, 1, 2])
        #expect(Set(rig.messages[1...3].map(\.timestamp)).count == 1)
    }

    /// Shows P76.
    @Test func `frames that were never meant to be sent leave no gap in the numbers`() {
        var rig = UploaderRig(.init(pacing: .every(2)))
        rig.run([
            .connect, .offer(1), .offer(2), .offer(3), .pause, .offer(4), .offer(5), .resume, .offer(6), .offer(7),
        ])
        #expect(rig.submitted == [1, 3, 5, 7])
        #expect(rig.messages.map(\.sequence) == [0, 1, 2, 3])
        rig.run([.disconnect, .offer(8), .offer(9), .connect])
        #expect(rig.messages.last?.sequence == 4)
    }

    @Test func `a frame that is superseded or cannot be encoded leaves a gap in the numbers`() {
        var rig = UploaderRig(.init(maximumMemory: 500))
        rig.run([.connect, .encodingFails, .offer(1), .offer(2, bytes: 501), .sending(false), .offer(3)])
        rig.run([.offer(4), .offer(5), .sending(true), .wait(0)])
        #expect(rig.submitted == [3, 5])
        #expect(rig.messages.map(\.sequence) == [2, 4])
    }

    // MARK: Unchanged frames

    static let unchanged: [UploaderCase] = [
        UploaderCase(
            "only changes are sent",
            skippingForGood,
            [.connect, .offer(1), .offer(2, shows: 1), .offer(3), .offer(4, shows: 3), .offer(5, shows: 1)],
            sends: [1, 3, 5],
            drops: [.unchanged: 2]
        ),
        UploaderCase(
            "a silent source is kept alive by its latest frame",
            skipping,
            [.connect, .offer(1), .wait(999), .wait(1), .wait(1000)],
            sends: [1, 1, 1],
            repeats: 2
        ),
        UploaderCase(
            "a source that has been slow is kept alive as often as one that has not",
            skipping,
            [.connect, .offer(1), .wait(60_000), .offer(2), .wait(999), .wait(1), .wait(1000)],
            sends: [UInt8](repeating: 1, count: 61) + [2, 2, 2],
            repeats: 62
        ),
        UploaderCase(
            "a slow source of which every third frame is sent is kept alive between them",
            .init(pacing: .every(3).skippingUnchanged(keepAlive: .seconds(1))),
            [.connect, .offer(1), .wait(5000), .offer(2), .wait(5000), .offer(3), .wait(5000), .offer(4)],
            sends: [UInt8](repeating: 1, count: 16) + [4],
            repeats: 15,
            drops: [.paced: 2]
        ),
        UploaderCase(
            "an unchanged image with another quality is a change",
            skippingForGood,
            [
                .connect, .offer(1), .update(.init(quality: 50, pacing: skippingForGood.pacing)), .offer(2, shows: 1),
                .offer(3, shows: 1),
            ],
            sends: [1, 2],
            drops: [.unchanged: 1]
        ),
        UploaderCase(
            "an unchanged image with another quality is a change, even after a refresh brought the old one",
            skippingForGood,
            [.connect, .offer(1), .prefer(.init(quality: 20)), .refresh, .offer(2, shows: 1), .offer(3, shows: 1)],
            sends: [1, 1, 2],
            repeats: 1,
            drops: [.unchanged: 1]
        ),
        UploaderCase(
            "an image that is being encoded with the old quality is not what later ones are compared with",
            skippingForGood,
            [
                .connect, .encoding(false), .offer(1), .encodingBegins, .prefer(.init(quality: 20)), .encoding(true),
                .offer(2, shows: 1), .offer(3, shows: 1),
            ],
            sends: [1, 2],
            drops: [.unchanged: 1]
        ),
        UploaderCase(
            "a preference that leaves images as they are makes no change",
            skippingForGood,
            [.connect, .offer(1), .prefer(.init(frameRateInMillihertz: 30_000)), .wait(100), .offer(2, shows: 1)],
            sends: [1],
            drops: [.unchanged: 1]
        ),
        UploaderCase(
            "a source may stay silent for good",
            skippingForGood,
            [.connect, .offer(1), .wait(100_000)],
            sends: [1]
        ),
        UploaderCase(
            "nothing keeps a paused receiver alive",
            skipping,
            [.connect, .offer(1), .pause, .wait(10_000), .resume, .wait(999)],
            sends: [1, 1],
            repeats: 1
        ),
        UploaderCase(
            "a frame that goes back to what was sent takes the place of one that was passed over",
            .init(pacing: .framesPerSecond(10).skippingUnchanged(keepAlive: nil)),
            [.connect, .offer(1), .wait(10), .offer(2), .wait(86), .offer(3, shows: 1), .wait(5000)],
            sends: [1],
            drops: [.paced: 1, .unchanged: 1]
        ),
        UploaderCase(
            "what a forced frame shows is known afterwards",
            skippingForGood,
            [.offer(1), .connect, .offer(2, shows: 1), .refresh, .offer(3, shows: 1)],
            sends: [1, 1],
            repeats: 1,
            drops: [.unchanged: 2]
        ),
        UploaderCase(
            "a frame that the receiver did not get does not count",
            skippingForGood,
            [
                .connect, .sending(false), .offer(1), .sendingFails(.connectionLost), .sending(true), .disconnect,
                .offer(2, shows: 1), .connect, .offer(3, shows: 1),
            ],
            sends: [1, 2],
            drops: [.connectionLost: 1, .unchanged: 1]
        ),
    ]

    /// Shows P69, P72, P79.
    @Test(arguments: unchanged)
    func `frames that show nothing new are left out`(_ example: UploaderCase) {
        example.check()
    }

    @Test func `a live source needs no keep-alive`() {
        var rig = UploaderRig(skipping)
        rig.run(.connect)
        for _ in 0..<300 { rig.run([.offer(1), .wait(10)]) }
        #expect(rig.machine.statistics.repeats == 0)
        #expect(rig.machine.statistics.sent == 3)
    }

    @Test func `a frame that was compared slowly is superseded by a newer one that was faster`() {
        var rig = UploaderRig(skippingForGood)
        rig.run([.connect, .offer(1)])
        let jpeg = FrameBytes([9])
        let slow = UploadFrame(.jpeg(jpeg, BufferSize(width: 8, height: 8)), offeredAt: rig.now)
        guard case .compare(var frame) = rig.machine.offer(slow, at: rig.now) else {
            Issue.record("nothing to compare")
            return
        }
        rig.run(.offer(2))
        frame.digest = 9
        #expect(rig.machine.admit(frame, at: rig.now) == .dropped(.superseded))
        #expect(rig.submitted == [1, 2])
        #expect(rig.machine.statistics.inProgress == 0)
    }

    @Test func `without pacing and comparison there is neither a timer nor a hash`() {
        var rig = UploaderRig()
        rig.run([.offer(1), .connect])
        for number in UInt8(0)..<100 { rig.run([.offer(number), .wait(5)]) }
        rig.run([.pause, .offer(1), .resume, .refresh, .disconnect, .connect, .finish(1)])
        #expect(rig.timerCount == 0 && rig.digestCount == 0 && rig.finished == [1])
    }
}
