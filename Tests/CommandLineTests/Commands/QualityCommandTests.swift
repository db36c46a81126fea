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
        let (told, sent) = try await exchange(["--output", place.path("out"), "--overwrite"], files, options)
        return (Array(try place.contents(of: "out").prefix(try told.events("frame").count)), sent)
    }

    private func exchange(
        _ receiving: [String],
        _ files: [String],
        _ options: [String]
    ) async throws -> (taken: Ending, sent: Ending) {
        try await place.take(["receive", place.socket, "--json"] + receiving) {
            try await place.framesocket(["send", place.socket, "--json"] + files + options).ended(0)
        }
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
        let (_, sent) = try await exchange(["--prefer-max-rate", "300000"], screens, ["--fps", "30", "--loop", "20"])
        let summary = try #require(try sent.events("sent").first)
        #expect(try #require(summary["dropped"]) > 20 && #require(summary["bytes"]) < 3_000_000)
    }

    @Test func `a last image that was still held back when the receiver left is reported`() async throws {
        let receiver = try await place.receiver("--count", "1")
        let sent = try await place.framesocket(["send", place.socket] + screens + ["--max-rate", "1", "--json"])
            .ended(69, "the receiver ended the connection after 1 frame")
        await receiver.ended(0)
        #expect(try sent.events("failed").count == 1)
    }

    /// Shows P345.
    @Test func `a maximum that does not suffice is reported`() async throws {
        let (_, sent) = try await send(
            screens,
            ["--fps", "20", "--loop", "30", "--max-rate", "100000", "--quality", "30-40"]
        )
        // A machine that is busy may have other difficulties, too.
        let isReported = try sent.events("conditions").contains { $0.list("present")?.contains("budget.low") == true }
        #expect(isReported, "\(sent)")
    }
}
