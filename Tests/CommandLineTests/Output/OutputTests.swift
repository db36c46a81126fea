import Foundation
import FrameSocketTesting
import Testing

/// What `framesocket receive` writes to standard output in place of events: JPEGs or pixels.
@Suite(.serialized) struct OutputTests {
    private let place = Workplace.new

    /// What `receive` with these options writes when it is sent the bytes of a file.
    private func output(of file: String, frames: Int, _ options: String...) async throws -> [UInt8] {
        let receiver = try place.framesocket(["receive", place.socket, "--count", "\(frames)"] + options)
        try place.peer("send_stream", file)
        let ending = await receiver.ended(0)
        return ending.output
    }

    private func file(ofJPEG name: String, width: Int = 451, height: Int = 300, orientation: Int = 1) throws -> String {
        let jpeg = try Data.bytes(at: Places.fixture("jpeg/\(name).jpg"))
        return try place.file("stream", message(jpeg, width: width, height: height, orientation: orientation))
    }

    @Test func `JPEGs are written one after another, without the padding of their bodies`() async throws {
        let stream = RecordedStream.zeroPadded
        let jpegs = try await output(of: stream.path, frames: 3, "--mjpeg")
        let received = try place.file("received.mjpeg", jpegs)
        let parts = stream.bodies
        let unpadded = parts.map { body in Array(body[...(body.lastIndex { $0 != 0 } ?? 0)]) }
        #expect(jpegs == unpadded.flatMap(\.self))
        // Another program finds them all.
        let frames = try await place.run(
            words: "ffmpeg -nostdin -loglevel error -f mjpeg -i \(received) -fps_mode passthrough -f framemd5 -"
        )
        let lines = String(decoding: frames, as: UTF8.self).split(separator: "\n")
        #expect(lines.count { !$0.hasPrefix("#") } == 3)
    }

    @Test func `all orientations show the same image with --upright`() async throws {
        let stream = Places.fixture("streams/orientations.http")
        let images = try await output(of: stream, frames: 9, "--raw", "rgb", "--upright").pieces(of: 144 * 96 * 3)
        try #require(images.count == 9)
        for image in images { #expect(peakSignalToNoiseRatio(image, images[1]) > 38) }
    }

    @Test func `no image is rotated without --upright`() async throws {
        let pixels = try await output(of: file(ofJPEG: "chelsea-444", orientation: 6), frames: 1, "--raw", "rgb")
        #expect(try await pixels == place.djpeg(Places.fixture("jpeg/chelsea-444.jpg")))
    }
}
