import Foundation
import FrameWire
import TestDescriptions
import Testing

@Suite("Finish reasons", .tags(.computes))
struct FinishReasonTests {
    /// Shows P142.
    @Test(
        arguments: [
            (.stoppedByUser, 10_001, "stoppedByUser", true), (.requestedByHost, 10_002, "requestedByHost", true),
            (.disconnected, 10_003, "disconnected", false), (.versionMismatch, 10_004, "versionMismatch", false),
            (.tokenRejected, 10_005, "tokenRejected", false), (.callEnded, 10_006, "callEnded", true),
            (.superseded, 10_007, "superseded", true), (.noHost, 10_008, "noHost", false),
            (.suspended, 10_009, "suspended", true), (.error, 10_010, "error", false),
        ] as [(ControlRequest.FinishReason, Int, String, Bool)]
    )
    func `codes, names and order are stable`(
        reason: ControlRequest.FinishReason,
        code: Int,
        name: String,
        isOrderly: Bool
    ) throws {
        #expect(reason.rawValue == code)
        #expect(reason.name == name)
        #expect(reason.isOrderly == isOrderly)

        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let document = try String(contentsOf: root.appending(path: "docs/wire-format.md"), encoding: .utf8)
        let row = "| \(code) | `\(name)` | \(reason) | \(isOrderly ? "yes" : "no") |"
        let isDocumented = document.contains(row)
        #expect(isDocumented, "docs/wire-format.md has: \(row)")
    }

    @Test func `there are ten reasons, each with its own sentence, and every code travels both ways`() {
        #expect(ControlRequest.FinishReason.allCases.map(\.rawValue) == Array(10_001...10_010))
        #expect(Set(ControlRequest.FinishReason.allCases.map(\.description)).count == 10)
        for reason in ControlRequest.FinishReason.allCases {
            #expect(reason.description.hasSuffix("."))
            let request = ControlRequest.stop(reason)
            #expect(Transcript(of: request.encoded(), .requests).items == [.request(request)])
            let status = SenderStatus(state: .stopped(reason))
            #expect(Transcript(of: status.encoded()).items == [.message(.status(status))])
        }
    }
}
