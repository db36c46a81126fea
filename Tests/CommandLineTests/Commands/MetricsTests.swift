import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// `framesocket receive --metrics`: counters in a file, in the text format of Prometheus.
@Suite(.serialized) struct MetricsTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    private static let names = [
        "connections_total", "connections", "refused_connections_total", "refused_for_place_total",
        "refused_for_user_total", "refused_for_token_total", "accept_pauses_total", "accepting_paused",
        "memory_in_flight_bytes", "frames_total", "frame_bytes_total", "missing_frames_total",
        "superseded_frames_total", "undecodable_frames_total",
    ]

    /// What the file says, metric by metric; Prometheus' own parser reads it below.
    private func metrics() throws -> [String: Double] {
        let text = String(decoding: try Data.bytes(at: place.path("m.prom")), as: UTF8.self)
        let samples = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(text.hasSuffix("\n") && samples.count >= Self.names.count)
        return Dictionary(
            uniqueKeysWithValues: samples.map { sample in
                let parts = sample.components(separatedBy: "{socket=\"\(place.socket)\"} ")
                return (String(parts[0].dropFirst("framesocket_".count)), Double(parts.last ?? "") ?? -1)
            }
        )
    }

    @Test func `the counters exist from the start and are right at the end`() async throws {
        let receiver = try await place.receiver("--json", "--metrics", place.path("m.prom"))
        #expect(try metrics() == Dictionary(uniqueKeysWithValues: Self.names.map { ($0, 0) }))
        let before = Date().timeIntervalSince1970
        try await place.send(jpeg, "--passthrough", "--loop", "3").checked(0)
        try await place.send(jpeg, "--passthrough", "--loop", "2").checked(0)
        try await receiver.lines(10)
        await receiver.ended(by: .terminate, 130)
        var values = try metrics()
        let stamp = values.removeValue(forKey: "last_frame_timestamp_seconds")
        let last = try #require(stamp)
        // ReceptionReadingsTests compare it with the time of the arrival; here, that it is the time of day, in seconds.
        #expect(abs(last - before) < 3_600)
        let bytes = try Double(5 * Data.bytes(at: jpeg).count)
        let expected = ["connections_total": 2.0, "frames_total": 5, "frame_bytes_total": bytes]
        #expect(values == Dictionary(uniqueKeysWithValues: Self.names.map { ($0, expected[$0] ?? 0) }))
        #expect(try place.names() == ["m.prom"])
    }

    @Test func `the counters are updated during reception, and readers always see a complete file`() async throws {
        // Twice a second, not every five.
        let receiver = try place.framesocket(
            ["receive", place.socket, "--metrics", place.path("m.prom")],
            timeScale: 0.1
        )
        try await receiver.told("listening at")
        _ = try place.framesocket(["send", place.socket, jpeg, "--loop", "0", "--quiet"])
        var frames: Set<Double> = []
        // Each read checks the whole of what it sees.
        try #require(
            try await becomesTrue {
                let values = try metrics()
                frames.insert(try #require(values["frames_total"]))
                return frames.count >= 2 && values["connections"] == 1
            }
        )
    }

    @Test func `Prometheus' own parser reads the counters, whatever the path contains`() async throws {
        let socket = place.path("a\"b\\c\nd")
        let file = place.path("m.prom")
        let receiver = try place.framesocket(["receive", socket, "--json", "--metrics", file, "--count", "2"])
        try await receiver.lines(1)
        try await place.framesocket(["send", socket, jpeg, "--loop", "2"]).ended(0)
        await receiver.ended(0)

        let parsed = try await place.script("read_metrics", file, socket)
        #expect(parsed.lines.contains("counter framesocket_frames_total 2"), "\(parsed)")
        #expect(parsed.lines.contains("counter framesocket_connections_total 1"), "\(parsed)")
        for line in parsed.lines {
            let parts = line.split(separator: " ")
            #expect(
                (parts.first == "counter") == parts[1].hasSuffix("_total") && ["counter", "gauge"].contains(parts[0])
            )
        }
        #expect(parsed.lines.count == Self.names.count + 1)
    }
}
