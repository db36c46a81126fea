import Foundation
import Testing

@testable import FrameSocketTool

/// Raw video and Y4M that are not what they should be.
@Suite struct VideoPipeTests {
    @Test(arguments: [
        ("YUV4MPEG2 W8 H8\nFRAME\nabc", "ends in frame 0"), ("YUV4MPEG2 W8 H8\nFRAME\n", "ends within frame 0"),
        ("YUV4MPEG2", "first line"), ("YUV4MPEG2 W8 H8", "ends within a line"), ("YUV4MPEG2\n", "states no size"),
        ("YUV4MPEG2 W2 H2\nFRAME\nabcdef\n", "frame 1 should begin"),
        ("YUV4MPEG2 W2 H2\nFRAME\nabcdefFRAME", "ends within a line"),
        ("YUV4MPEG2 W2 H2\nFRAMES\nabcdef", "frame 0 should begin"),
        ("YUV4MPEG2 W8 H8\nfoo\n", "frame 0 should begin"),
        ("YUV4MPEG2 W8 H8 X" + String(repeating: "x", count: 2000) + "\n", "more than 1024 bytes"),
    ])
    func `an unsupported Y4M stream is refused with a reason`(input: String, reason: String)
        async throws
    {
        let place = try Workplace()
        let receiver = try await place.receiver()
        let file = try place.file("in", Array(input.utf8))
        try await place.send("-", "--quiet", "--wait", "30", input: .file(file)).checked(65, [reason])
        _ = receiver
    }

    @Test func `a stride that is too small is rejected before anything is sent`() async throws {
        let place = try Workplace()
        let options = ["--size", "8x8", "--format", "gray", "--stride", "7"]
        let sender = try place.framesocket(["send", place.socket, "-"] + options, input: .file("/dev/zero"))
        await sender.ended(64, "rows have 8 bytes")
    }

    @Test func `video without chroma is sent as gray`() async throws {
        let place = try Workplace()
        let receiver = try place.framesocket(["receive", place.socket, "--count", "1", "--quiet", "--raw", "rgb"])
        let header = Array("YUV4MPEG2 W16 H16 Cmono XCOLORRANGE=FULL\nFRAME\n".utf8)
        let file = try place.file("in", header + [UInt8](repeating: 77, count: 256))
        try await place.send("-", "--quiet", "--wait", "30", input: .file(file)).checked(0)
        let output = await receiver.ended().output
        #expect(output.count == 768 && output.allSatisfy { abs(Int($0) - 77) <= 2 })
    }

    @Test(arguments: [
        "", "C420", "C420jpeg XYSCSS=420JPEG", "XYSCSS=420JPEG", "XYSCSS=420MPEG2", "XYSCSS=420PALDV",
        // The mjpegtools' own field comes first.
        "C420jpeg XYSCSS=444", "XYSCSS=422 C420",
    ])
    func `4 to 2 to 0 is read in either field`(fields: String) throws {
        let header = try Y4MHeader(parsing: "W32 H24 F5:1 \(fields)")
        #expect(!header.isMono)
    }

    @Test(
        arguments: [
            "C422", "C444", "C420p10", "Cmono12", "XYSCSS=411", "XYSCSS=422", "XYSCSS=444", "XYSCSS=420P10",
            "C422 XYSCSS=420JPEG",
        ].map { ("W32 H24 F5:1 \($0)", "-pix_fmt yuv420p") } + [
            ("W8 H8 It", "interlaced"), ("W0 H8", "states no size"), ("W8", "states no size"),
            ("W70000 H8", "states no size"), ("W-8 H8", "states no size"), ("", "states no size"),
        ]
    )
    func `any other video is refused with a reason`(fields: String, reason: String) {
        let error = #expect(throws: CommandFailure.self) { try Y4MHeader(parsing: fields) }
        #expect(error?.code == .badData && error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }
}
