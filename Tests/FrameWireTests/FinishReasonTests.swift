import Foundation
import FrameWire
import TestDescriptions
import Testing

@Suite("Finish reasons", .tags(.computes))
struct FinishReasonTests {
    private static let table: [(ControlRequest.FinishReason, code: Int, name: String, isOrderly: Bool)] = [
        (.stoppedByUser, 10_001, "stoppedByUser", true), (.requestedByHost, 10_002, "requestedByHost", true),
        (.disconnected, 10_003, "disconnected", false), (.versionMismatch, 10_004, "versionMismatch", false),
        (.tokenRejected, 10_005, "tokenRejected", false), (.callEnded, 10_006, "callEnded", true),
        (.superseded, 10_007, "superseded", true), (.noHost, 10_008, "noHost", false),
        (.suspended, 10_009, "suspended", true), (.error, 10_010, "error", false),
    ]

    /// Shows P142.
    @Test func `codes, names and order are stable and documented, and every code travels both ways`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let document = try String(contentsOf: root.appending(path: "docs/wire-format.md"), encoding: .utf8)
        #expect(ControlRequest.FinishReason.allCases == Self.table.map(\.0))
        #expect(Set(Self.table.map(\.0.description)).count == 10, "each has its own sentence")
        for (reason, code, name, isOrderly) in Self.table {
            #expect(reason.rawValue == code && reason.name == name && reason.isOrderly == isOrderly)
            #expect(reason.description.hasSuffix("."))
            let row = "| \(code) | `\(name)` | \(reason) | \(isOrderly ? "yes" : "no") |"
            let isDocumented = document.contains(row)
            #expect(isDocumented, "docs/wire-format.md has: \(row)")
            let request = ControlRequest.stop(reason)
            #expect(Transcript(of: request.encoded(), .requests).items == [.request(request)])
            let status = SenderStatus(state: .stopped(reason))
            #expect(Transcript(of: status.encoded()).items == [.message(.status(status))])
        }
    }
}
