import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Callers that wait for the frames submitted so far, or for a buffer: who is told, when, and of what.
@Suite(.tags(.computes)) struct UploaderWaitingTests {
    static let finishing: [UploaderCase] = [
        UploaderCase(
            "a frame that is held back",
            .init(pacing: .framesPerSecond(0.001)),
            [.connect, .offer(1), .offer(2), .offer(3), .finish(1)],
            sends: [1, 3],
            drops: [.paced: 1]
        ),
        UploaderCase(
            "a frame that is held back behind two that are not",
            .init(pacing: .every(2)),
            [
                .connect, .sending(false), .offer(1), .offer(2), .offer(3), .offer(4), .finish(1), .sending(true),
                .wait(0),
            ],
            sends: [1, 3, 4],
            drops: [.paced: 1]
        ),
        UploaderCase(
            "an unchanged frame that is held back",
            .init(pacing: .framesPerSecond(1).skippingUnchanged(keepAlive: nil)),
            [.connect, .offer(1), .offer(2, shows: 1), .finish(1)],
            sends: [1],
            drops: [.unchanged: 1]
        ),
        UploaderCase(
            "an unchanged frame that has a rate of its own",
            .init(pacing: .adaptive(still: 1, motion: 10)),
            [.connect, .offer(1), .offer(2, shows: 1), .finish(1), .wait(5000)],
            sends: [1],
            drops: [.paced: 1]
        ),
        UploaderCase("nobody is connected", [.offer(1), .finish(1)], sends: [], drops: [.notConnected: 1]),
        UploaderCase("a pause", [.connect, .pause, .offer(1), .finish(1)], sends: [], drops: [.paused: 1]),
        UploaderCase(
            "a frame that is held back, and nobody is connected",
            .init(pacing: .every(2)),
            [.connect, .offer(1), .offer(2), .disconnect, .finish(1)],
            sends: [1],
            drops: [.paced: 1]
        ),
        UploaderCase(
            "a connection that is lost",
            [.connect, .sending(false), .offer(1), .finish(1), .sendingFails(.connectionLost), .disconnect],
            sends: [1],
            drops: [.connectionLost: 1]
        ),
        UploaderCase(
            "the end of the connection",
            [.connect, .encoding(false), .offer(1), .finish(1), .close],
            sends: [],
            drops: [.notConnected: 1]
        ),
        UploaderCase("nothing at all", [.finish(1)], sends: []),
        UploaderCase("a repeat", [.connect, .offer(1), .sending(false), .refresh, .finish(1)], sends: [1, 1]),
    ]

    /// Shows P207.
    @Test(arguments: finishing)
    func `whoever waits for the frames submitted so far is told`(_ example: UploaderCase) {
        example.check()
        var rig = UploaderRig(example.configuration)
        rig.run(example.steps)
        #expect(rig.finished == [1])
        #expect(rig.machine.waiterCount == 0)
    }

    /// What became of the newest frame.
    struct Loss: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let configuration: SampleUploader.Configuration
        let steps: [UploaderRig.Step]
        let cause: SampleUploader.DropCause?

        init(
            _ name: String,
            _ steps: [UploaderRig.Step],
            _ cause: SampleUploader.DropCause?,
            with configuration: SampleUploader.Configuration = .init()
        ) {
            (testDescription, self.configuration, self.steps, self.cause) = (name, configuration, steps, cause)
        }
    }

    static let losses: [Loss] = [
        Loss("nothing was submitted", [], nil),
        Loss("it was sent", [.connect, .offer(1)], nil),
        Loss("nobody is connected", [.offer(1)], .notConnected),
        Loss("a pause", [.connect, .pause, .offer(1)], .paused),
        Loss("a receiver that wants no frames", [.connect, .hello(wantsFrames: false), .offer(1)], .notWanted),
        Loss("it was sent after a pause", [.connect, .pause, .offer(1), .resume], nil),
        Loss("it could not be encoded", [.connect, .encodingFails, .offer(1)], .encodingFailed),
        Loss("a newer one was sent", [.connect, .encodingFails, .offer(1), .offer(2)], nil),
        Loss(
            "the connection was lost",
            [.connect, .sending(false), .offer(1), .sendingFails(.connectionLost), .disconnect],
            .notConnected
        ),
        Loss(
            "another uploader keeps the connection busy",
            [.connect, .sending(false), .offer(1), .sendingFails(.superseded)],
            .superseded
        ),
        Loss("the end of the connection, while it was kept", [.offer(1), .close], .notConnected),
        Loss("the end, while it was encoded", [.connect, .encoding(false), .offer(1), .close], .notConnected),
        Loss("it was sent before the end", [.connect, .offer(1), .disconnect, .close], nil),
        Loss("its caller was told", [.connect, .close, .offer(1)], nil),
        Loss(
            "an equal one was sent",
            [.connect, .offer(1), .offer(2, shows: 1)],
            nil,
            with: .init(pacing: .everyFrame.skippingUnchanged())
        ),
    ]

    /// Shows P214.
    @Test(arguments: losses)
    func `after waiting, the cause is known for which the newest frame was not sent`(_ loss: Loss) {
        var rig = UploaderRig(loss.configuration)
        rig.run(loss.steps + [.finish(1)])
        #expect(rig.machine.causeOfLoss(upTo: .max) == loss.cause)
    }

    @Test func `a lost frame that a new connection takes up again is pending, and does not count as sent`() {
        var rig = UploaderRig()
        rig.run([.connect, .sending(false), .offer(1), .sendingFails(.connectionLost), .disconnect])
        #expect(!rig.machine.isPending(upTo: .max) && rig.machine.causeOfLoss(upTo: .max) == .notConnected)
        rig.run([.connect])
        #expect(rig.machine.isPending(upTo: .max) && rig.machine.causeOfLoss(upTo: .max) == nil)
    }

    @Test func `newer frames do not prolong the wait, and a cancelled caller does not wait`() {
        var rig = UploaderRig()
        rig.run([.connect, .sending(false), .offer(1), .finish(1), .offer(2), .finish(2), .finish(3), .cancelFinish(3)])
        #expect(rig.finished.isEmpty && rig.machine.waiterCount == 2)
        // The first is out, and the second under way.
        rig.run([.messageIsOut, .offer(3)])
        #expect(rig.finished == [1])
        rig.run([.sending(true), .wait(0)])
        #expect(rig.finished == [1, 2] && rig.machine.waiterCount == 0)
    }

    /// Shows P281.
    @Test func `a caller that waits for a buffer is told if there is no memory for it, unless it was cancelled`() throws
    {
        var machine = UploaderMachine(.init(sharing: .allowed(buffers: 1)), owner: 1)
        var terms = ReceiverTerms()
        (terms.connection, terms.revision, terms.isConnected) = (1, 1, true)
        (terms.isGreeted, terms.acceptsSharedMemory) = (true, true)
        machine.termsChanged(terms, at: 0)
        // The frame in progress may need the buffer next.
        let jpeg = UploadFrame(.jpeg(FrameBytes([1]), BufferSize(width: 8, height: 8)), offeredAt: 0)
        _ = machine.offer(jpeg, at: 0)
        let lent = machine.lend(BufferSize(width: 8, height: 8), .gray, 64)
        let lease = try #require(lent).lease
        machine.awaitBuffer(7, at: 0)
        machine.awaitBuffer(8, at: 0)
        machine.cancelWait(8)
        let before = machine.takeEffects().finished
        machine.lendingFailed(lease, at: 0)
        let after = machine.takeEffects().finished
        #expect(before == [] && after == [7])
    }
}
