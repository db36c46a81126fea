import Foundation
import Testing

/// `framesocket demo`: both ends at work on the fixtures.
@Suite(.serialized) struct DemoTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    @Test func `the demo sends the fixtures and reports what arrived`() async throws {
        let demo = try place.shell("TMPDIR=$D exec $F demo --fixtures $X --seconds 0.3")
        let ending = await demo.ended()
        #expect(ending.status == 0, "\(ending)")
        let rows = ending.lines.map { $0.split(whereSeparator: { $0 == " " }).map(String.init) }
        #expect(rows.first?.prefix(4) == ["sequence", "frames", "size", "a"])
        let sequences = [
            "desktop-typing", "desktop-window", "phone-scroll", "astronaut", "camera", "chelsea", "rocket",
        ]
        #expect(rows.dropFirst().map { $0[0] } == sequences)
        #expect(rows.dropFirst().compactMap { Int($0[1]) } == [6, 6, 5, 1, 1, 1, 1])
        for row in rows.dropFirst() {
            // Name, frames, size, bytes of a frame, frames a second, the comparison, the worst ratio.
            #expect(row.count == 9 && row[2].contains("x") && row[4] == "kB" && row[6] == "identical" && row[8] == "dB")
            #expect(Double(row[5]) ?? 0 > 0)
            #expect(Double(row[7]) ?? 0 > 30)
        }
        for words in ["Sent 21 of 21, dropped 0", "Received and decoded: 21, errors: 0", "dropped:", "per second"] {
            #expect(ending.errors.contains(words))
        }

        // What arrived lies where the demo says, a person can open it, and no socket is left.
        let line = try #require(
            ending.errors.split(separator: "\n").first { $0.contains("The received images are in ") }
        )
        let directory = String(line.dropFirst("The received images are in ".count))
        #expect(try place.names() == [URL(filePath: directory).lastPathComponent])
        let files = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        #expect(files == (0..<21).map { String(format: "frame-%06d.jpg", $0) })
        let pixels = try await place.djpeg(directory + "/frame-000000.jpg")
        let original = try await place.pixels(of: Places.fixture("screens/desktop-typing/000.png"))
        #expect(peakSignalToNoiseRatio(pixels, original) > 38)
    }

    @Test func `images go to the requested directory with the requested quality`() async throws {
        let low = try place.framesocket([
            "demo", "--fixtures", Places.fixture(""), "--output", place.path("a/b"), "--quality", "20",
            "--seconds", "0.1",
        ])
        let ending = await low.ended()
        #expect(ending.status == 0, "\(ending)")
        #expect(try place.names(in: "a/b").count == 21)
        #expect(ending.errors.contains("at quality 20"))
    }
}
