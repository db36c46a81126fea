import FrameSocket
import Testing

@testable import FrameSocketApple

/// What the person is told of an end.
@Suite struct BroadcastEndTests {
    @Test(arguments: ControlRequest.FinishReason.allCases)
    func `every reason has a key of its own, and a sentence without a translation`(reason: ControlRequest.FinishReason)
    {
        let end = BroadcastEnd(reason)
        #expect(end.description == reason.description)
        #expect(end.sentence { key, _ in "[\(key)]" } == "[FrameSocket.\(reason.name)]")
    }

    /// Failures that only a developer can correct.
    private static let setup: [TransportError.Code] = [
        .invalidPath, .pathTooLong, .tokenRequired, .invalidToken, .notASocket,
    ]

    @Test(arguments: setup)
    func `a mistake in the setup is said as it is, whatever the language`(code: TransportError.Code) {
        let end = BroadcastEnd(.failed(TransportError(code, path: "/a", "here is why")))
        let sentence = end.sentence { _, _ in "translated" }
        #expect(sentence.hasPrefix("Screen sharing is not set up correctly: ") && sentence.contains("here is why"))
    }

    @Test(arguments: [
        (TransportError.Code.openTimedOut, ControlRequest.FinishReason.noHost), (.tokenRejected, .tokenRejected),
        (.connectionLost, .disconnected), (.noMemory, .error),
    ])
    func `other failures have the sentence of their reason`(
        code: TransportError.Code,
        reason: ControlRequest.FinishReason
    ) {
        #expect(BroadcastEnd(.failed(TransportError(code, "why"))) == BroadcastEnd(reason))
    }

    @Test(arguments: [
        (-5_801, ControlRequest.FinishReason.stoppedByUser), (-5_806, .suspended), (-5_809, .suspended),
        (-5_811, .suspended),
        (-5_813, .suspended), (-5_815, .disconnected), (-5_800, .error), (0, .error), (.min, .error),
    ])
    func `an error of ReplayKit tells an interruption from a stop`(code: Int, reason: ControlRequest.FinishReason) {
        #expect(ControlRequest.FinishReason(recordingErrorCode: code) == reason)
    }

    @Test func `values have defaults, also for fields that were left empty`() {
        let values: BroadcastValues = ["channelName": "room", "rate": "", "channelName": "other"]
        #expect(values["channelName", default: "channel"] == "other")
        #expect(values["rate", default: "15"] == "15" && values.texts["rate"] == "")
        #expect(BroadcastValues()["size", default: "a"] == "a")
    }
}
