import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// A receiver that is owed the latest frame while an older one is on its way, and the pacing holds the latest back.
@Suite(.tags(.computes)) struct OwedFrameTests {
    private static let slow = SampleUploader.Configuration(pacing: .framesPerSecond(0.001))
    private static let changes = SampleUploader.Configuration(
        pacing: .framesPerSecond(10).skippingUnchanged(keepAlive: nil)
    )

    static let owed: [UploaderCase] = [
        UploaderCase(
            "a refresh while an older frame waits for the encoder",
            slow,
            [.connect, .encoding(false), .offer(1), .offer(2), .refresh, .encoding(true), .wait(0)],
            sends: [1, 2]
        ),
        UploaderCase(
            "a refresh while an older frame is being encoded",
            slow,
            [.connect, .encoding(false), .offer(1), .encodingBegins, .offer(2), .refresh, .encoding(true), .wait(0)],
            sends: [1, 2]
        ),
        UploaderCase(
            "a request by the program",
            slow,
            [.connect, .encoding(false), .offer(1), .encodingBegins, .offer(2), .request, .encoding(true), .wait(0)],
            sends: [1, 2]
        ),
        UploaderCase(
            "a new receiver",
            slow,
            [
                .connect, .encoding(false), .offer(1), .encodingBegins, .offer(2), .disconnect, .connect,
                .encoding(true), .wait(0),
            ],
            sends: [1, 2]
        ),
        UploaderCase(
            "a resume",
            slow,
            [
                .connect, .encoding(false), .offer(1), .encodingBegins, .offer(2), .pause, .resume, .encoding(true),
                .wait(0),
            ],
            sends: [1, 2]
        ),
        UploaderCase(
            "a refresh, and a newer frame before the older one is encoded",
            slow,
            [
                .connect, .encoding(false), .offer(1), .encodingBegins, .offer(2), .refresh, .offer(3),
                .encoding(true), .wait(0),
            ],
            sends: [1, 3],
            drops: [.paced: 1]
        ),
        UploaderCase(
            "a refresh, and a newer frame while the older one is being sent",
            slow,
            [
                .connect, .encoding(false), .offer(1), .encodingBegins, .offer(2), .refresh, .sending(false),
                .encoding(true), .offer(3), .sending(true), .wait(0),
            ],
            sends: [1, 3],
            drops: [.paced: 1]
        ),
        UploaderCase(
            "a refresh, and another rate before the older frame is encoded",
            slow,
            [
                .connect, .encoding(false), .offer(1), .encodingBegins, .offer(2), .refresh,
                .update(.init(pacing: .framesPerSecond(0.002))), .encoding(true), .wait(0),
            ],
            sends: [1, 2]
        ),
    ]

    /// Shows P61, P64.
    @Test(arguments: owed)
    func `an older frame does not settle what is owed`(_ example: UploaderCase) {
        example.check()
    }

    static let settled: [UploaderCase] = [
        UploaderCase(
            "a request before any frame was offered",
            slow,
            [
                .connect, .request, .encoding(false), .offer(1), .encodingBegins, .offer(2), .encoding(true),
                .wait(5000),
            ],
            sends: [1],
            drops: [.paced: 1]
        ),
        UploaderCase(
            "an older frame that is being encoded, and is the latest again",
            changes,
            [
                .connect, .encoding(false), .offer(1), .encodingBegins, .wait(10), .offer(2), .refresh, .wait(86),
                .offer(3, shows: 1), .encoding(true), .wait(5000),
            ],
            sends: [1],
            drops: [.paced: 1, .unchanged: 1]
        ),
        UploaderCase(
            "an older frame that is being sent, and is the latest again",
            changes,
            [
                .connect, .encoding(false), .offer(1), .encodingBegins, .wait(10), .offer(2), .refresh,
                .sending(false), .encoding(true), .wait(86), .offer(3, shows: 1), .sending(true), .wait(5000),
            ],
            sends: [1],
            drops: [.paced: 1, .unchanged: 1]
        ),
    ]

    @Test(arguments: settled)
    func `a frame settles what is owed if no newer one was deferred then, or it is gone`(_ example: UploaderCase) {
        example.check()
    }
}
