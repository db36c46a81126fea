import Foundation
import Testing

#if os(Linux)
    /// The pipelines of docs/scaling.md, between two ports of this machine: each frame that is sent on one side comes out on the other.
    @Suite(.serialized) struct NetworkTests {
        private let place: Workplace
        private let count = 100

        init() throws {
            place = try Workplace()
        }

        /// A port that nobody uses just now.
        private func port(_ kind: String) async throws -> String {
            let code =
                "import socket; s = socket.socket(type=socket.\(kind)); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
            let ending = try await place.start(Places.python, ["-c", code]).ended()
            return try #require(ending.lines.first)
        }

        /// What one frame after another decodes to, as ffmpeg prints it, and the times where there are any.
        private func checksums(_ input: String) async throws -> [Substring] {
            let ending = try await place.shell("ffmpeg -nostdin -v error \(input) -fps_mode passthrough -f framemd5 -")
                .ended()
            try #require(ending.status == 0, "\(ending)")
            return ending.lines.filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
        }

        /// Sends a hundred pictures through a pipeline whose halves are commands of the shell, and gives what arrives.
        ///
        /// The sending half reads `record`'s output, which is kept in `$D/sent.mkv`. Pictures are encoded here: baseline, 4:2:0, with the
        /// tables of the standard.
        private func send(
            through sending: String,
            to receiving: String,
            _ options: String = "",
            listening: (Program) async throws -> Void
        ) async throws -> [Event] {
            let out = place.path("out")
            let receiver = try place.framesocket(
                ["receive", place.path("b"), "--json", "--count", "\(count)", "--timeout", "60", "--output", out]
            )
            _ = try await receiver.lines(1)
            try await listening(place.shell(receiving))
            let recorder = try place.shell("$F record $D/a - --once | tee $D/sent.mkv | \(sending)")
            try await recorder.told("listening at")
            let sender = try await place.shell(
                """
                ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=640x480:rate=25 -frames:v \(count) -pix_fmt bgra -f rawvideo - |
                $F send $D/a - --size 640x480 --format bgra --fps 50 --quiet \(options)
                """
            ).ended()
            #expect(sender.status == 0, "\(sender)")
            return try await receiver.ended().events("frame")
        }

        /// Sees that the pictures that arrived are those that were sent, to the bit.
        private func checkPictures() async throws {
            let sent = try await checksums("-i $D/sent.mkv")
            #expect(sent.count == count)
            #expect(try await checksums("-f image2 -i $D/out/frame-%06d.jpg") == sent)
        }

        @Test(.needs("gst-launch-1.0")) func `RTP`() async throws {
            let port = try await port("SOCK_DGRAM")
            let caps = "application/x-rtp,media=video,encoding-name=JPEG,payload=26,clock-rate=90000"
            let frames = try await send(
                through: "gst-launch-1.0 -q fdsrc ! matroskademux ! rtpjpegpay ! udpsink host=127.0.0.1 port=\(port)",
                to: """
                    gst-launch-1.0 -q udpsrc address=127.0.0.1 port=\(port) buffer-size=8000000 caps="\(caps)" ! \
                    rtpjitterbuffer ! rtpjpegdepay ! fdsink | $F send $D/b - --passthrough
                    """
            ) { _ in
                // To be seen on Linux alone: a datagram before it is bound would be lost.
                try await eventually {
                    let sockets = try String(contentsOfFile: "/proc/net/udp", encoding: .utf8)
                    return sockets.contains(":" + String(Int(port) ?? 0, radix: 16, uppercase: true) + " ")
                }
            }
            #expect(frames.count == count)
            try await checkPictures()
        }

        @Test func `RTSP`() async throws {
            let port = try await port("SOCK_STREAM")
            let frames = try await send(
                through: "ffmpeg -v error -i - -c copy -f rtsp -rtsp_transport tcp rtsp://127.0.0.1:\(port)/live",
                to: """
                    ffmpeg -nostdin -v error -rtsp_flags listen -i rtsp://127.0.0.1:\(port)/live -c copy -f mjpeg - | \
                    $F send $D/b - --passthrough
                    """,
                // ffmpeg's RTP leaves out the restart interval, and with it the pictures.
                "--no-strips"
            ) { _ in try await listens(port) }
            #expect(frames.count == count)
            try await checkPictures()
        }

        @Test func `a connection that carries the recording`() async throws {
            let port = try await port("SOCK_STREAM")
            let frames = try await send(
                through: "socat -u - TCP:127.0.0.1:\(port)",
                to: "socat -u TCP-LISTEN:\(port),bind=127.0.0.1 - | $F replay - $D/b"
            ) { _ in try await listens(port) }
            // Times and all, and not a byte else.
            let times = frames.compactMap { $0["timestamp"] }
            // A stall of this machine makes a step longer, and none shorter.
            #expect(times.count == count && zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 20_000_000 })
            try await checkPictures()
        }

        /// Waits until a program listens at a port.
        private func listens(_ port: String) async throws {
            try await eventually {
                let sockets = try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)
                // State 0A.
                return sockets.contains(":" + String(Int(port) ?? 0, radix: 16, uppercase: true) + " 00000000:0000 0A")
            }
        }
    }
#endif
