import Foundation
import Testing

/// The commands of docs/pipes.md, run as they are written there.
@Suite(.serialized) struct DocumentedPipeTests {
    /// What is replaced in a command, in this order.
    private static let replacements = [
        ("ffmpeg …", "ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=1280x720:rate=30 -frames:v 20"),
        ("gst-launch-1.0 -q …", "gst-launch-1.0 -q videotestsrc num-buffers=20"),
        ("! jpegenc", "! video/x-raw,width=1280,height=720 ! jpegenc"),
        ("| ffmpeg", "| ffmpeg -loglevel error"),
        ("| gst-launch-1.0", "| gst-launch-1.0 -q"),
        ("| mpv", "| mpv --no-config --really-quiet --no-audio --vo=null"),
        ("autovideosink", "fakesink"),
        ("out.mp4", "$D/out.mp4"),
        ("receive PATH", "receive $S --quiet --count 20"),
        ("send PATH", "send $S --wait 30 --quiet"),
        ("framesocket", "$F"),
    ]

    private static func section(_ title: String) throws -> [String] {
        let text = try String(contentsOfFile: Places.package + "docs/pipes.md", encoding: .utf8)
        let sections = text.components(separatedBy: "\n## ")
        let lines = try #require(sections.first { $0.hasPrefix(title) }).split(separator: "\n")
        return lines.filter { $0.hasPrefix("    ") && !$0.contains("x11grab") }.map { line in
            replacements.reduce(line.trimmingCharacters(in: .whitespaces)) {
                $0.replacingOccurrences(of: $1.0, with: $1.1)
            }
        }
    }

    private func ended(_ command: String, in place: Workplace) async throws {
        let ending = try await place.shell(command).ended()
        #expect(ending.status == 0, "\(command): \(ending)")
    }

    @Test(.needs("gst-launch-1.0", "mpv", "ffmpeg")) func `every command out of the socket gets twenty frames`()
        async throws
    {
        let commands = try Self.section("Out of the socket")
        #expect(commands.count == 9)
        for command in commands {
            let place = try Workplace()
            let reader = try place.shell(command)
            try await ended(
                "ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=1280x720:rate=30 -frames:v 20 -q:v 3 -f mjpeg - |"
                    + " $F send $S - --passthrough --wait 30 --quiet",
                in: place
            )
            let ending = await reader.ended()
            #expect(ending.status == 0, "\(command): \(ending)")
            guard command.contains("out.mp4") else { continue }
            let count = try await place.shell(
                "ffprobe -v error -count_packets -show_entries stream=nb_read_packets -of csv=p=0 $D/out.mp4"
            ).ended()
            #expect(count.text.hasPrefix("20"), "\(command): \(count.text)")
        }
    }

    @Test(.needs("gst-launch-1.0", "ffmpeg")) func `every command into the socket sends twenty frames`() async throws {
        let commands = try Self.section("Into the socket")
        #expect(commands.count == 7)
        for command in commands {
            let place = try Workplace()
            let receiver = try place.shell("$F receive $S --count 20 --json --timeout 60")
            try await ended(command, in: place)
            let events = try await receiver.ended().events("frame")
            #expect(
                events.count == 20 && events.allSatisfy { $0["width"] == 1280 && $0["height"] == 720 },
                "\(command)"
            )
        }
    }
}
