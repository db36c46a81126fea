import Foundation
import TestSupport
import Testing

/// `framesocket send --max-rate`, from one process to another.
@Suite(.serialized) struct QualityCommandTests {
    private let place = Workplace.new

    private var screens: [String] {
        ["000", "001", "002"].map { Places.fixture("screens/desktop-window/\($0).png") }
    }

    /// The bodies of the frames that arrive.
    private func send(_ files: [String], _ options: [String]) async throws -> (bodies: [[UInt8]], sent: Ending) {
        let receiver = try await place.receiver(["--json", "--output", place.path("out"), "--overwrite"])
        let sent = try await place.framesocket(["send", place.socket] + files + ["--json", "--wait", "30"] + options)
            .ended()
        try await receiver.printed("\"event\":\"closed\"")
        receiver.send(.terminate)
        let told = await receiver.ended()
        #expect(sent.status == 0, "\(sent) \(told)")
        return (Array(try place.contents(of: "out").prefix(try told.events("frame").count)), sent)
    }

    /// Shows P341.
    @Test func `images that change come at a lower quality, and the last one comes again at the highest`() async throws
    {
        let (whole, _) = try await send([screens[2]], [])
        let (bodies, sent) = try await send(
            screens,
            ["--fps", "30", "--loop", "8", "--max-rate", "500000", "--prefer-motion"]
        )
        let last = try #require(bodies.last)
        #expect(last == whole[0])
        #expect(bodies.dropFirst().dropLast().contains { $0.count < last.count * 3 / 4 })
        let summary = try #require(try sent.events("sent").first)
        // A machine so busy that the last image has stood still before it is encoded sends it once.
        #expect(try (summary["sharpened"] ?? 0) <= 1 && #require(summary["dropped"]) > 0)
    }

    @Test func `a receiver asks for a number of bytes a second`() async throws {
        let receiver = try await place.receiver("--json", "--prefer-max-rate", "300000")
        let sent = try await place.framesocket(
            ["send", place.socket] + screens + ["--fps", "30", "--loop", "20", "--json", "--wait", "30"]
        ).ended()
        try await receiver.printed("\"event\":\"closed\"")
        receiver.send(.terminate)
        let told = await receiver.ended()
        #expect(sent.status == 0, "\(sent) \(told)")
        let summary = try #require(try sent.events("sent").first)
        #expect(try #require(summary["dropped"]) > 20 && #require(summary["bytes"]) < 3_000_000)
    }

    @Test func `a last image that was still held back when the receiver left is reported`() async throws {
        let receiver = try await place.receiver("--count", "1")
        let sent = try await place.framesocket(["send", place.socket] + screens + ["--max-rate", "1", "--json"]).ended()
        #expect(await receiver.ended().status == 0)
        #expect(sent.status == 69 && sent.errors.contains("the receiver ended the connection after 1 frame"), "\(sent)")
        #expect(try sent.events("failed").count == 1)
    }

    /// Shows P345.
    @Test func `a maximum that does not suffice is reported`() async throws {
        let (_, sent) = try await send(
            screens,
            ["--fps", "20", "--loop", "30", "--max-rate", "100000", "--quality", "30-40"]
        )
        // A machine that is busy may have other difficulties, too.
        let isReported = try sent.events("conditions").contains { event in
            if case .list(let present) = event.values["present"] { present.contains("budget.low") } else { false }
        }
        #expect(isReported, "\(sent)")
    }
}
