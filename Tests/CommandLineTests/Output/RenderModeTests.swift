import Foundation
import Testing

/// Raw video of one size: whole images between bars, images that cover it, and stretched ones.
@Suite(.serialized) struct RenderModeTests {
    private let place: Workplace
    private let photo = Places.fixture("jpeg/chelsea-444.jpg")

    init() throws {
        place = try Workplace()
    }

    private static let modes = ["--letterbox", "--fill", "--stretch"]

    /// Sends images, and gives what `framesocket receive` writes.
    private func received(_ options: [String], count: Int, sending: [String]) async throws -> Ending {
        let receiver = try place.framesocket(
            ["receive", place.socket, "--count", "\(count)", "--quiet"] + options
        )
        let sender = try place.framesocket(
            ["send", place.socket, "--wait", "30", "--passthrough", "--quiet"] + sending
        )
        #expect(await sender.ended().status == 0)
        let ending = await receiver.ended()
        #expect(ending.status == 0, "\(ending)")
        return ending
    }

    /// Smaller and larger than the photo of 451x300, in one direction or in both.
    ///
    /// Shows P336.
    @Test(arguments: modes, [(200, 200), (321, 101), (97, 300), (901, 401), (300, 900)])
    func `the pixels are those that Pillow makes of the same JPEG`(mode: String, size: (Int, Int)) async throws {
        let (width, height) = size
        let ending = try await received(
            ["--raw", "rgb", mode, "\(width)x\(height)"],
            count: 1,
            sending: [photo]
        )
        try #require(ending.output.count == 3 * width * height)
        let raw = try place.file("raw", Array(ending.output))
        let told = try await place.script("compare_modes", photo, raw, "\(width)", "\(height)")
        for other in Self.modes {
            let difference = try #require(try told.events(other).first?["difference"])
            #expect(other == mode ? difference < 3_000 : difference > 8_000, "\(other): \(difference)")
        }
    }

    /// What is rotated upright fills the size as it is seen: the photo stands, and covers the middle third.
    ///
    /// Shows P336.
    @Test func `a rotated image fills the size as it is seen`() async throws {
        for (options, isBlackAside) in [([], false), (["--upright"], true)] {
            let ending = try await received(
                ["--y4m", "--letterbox", "451x300"] + options,
                count: 1,
                sending: ["--orientation", "6", photo]
            )
            let text = String(decoding: ending.output.prefix(200).map { $0 < 128 ? $0 : 63 }, as: UTF8.self)
            #expect(text.hasPrefix("YUV4MPEG2 W451 H300 "), "\(text)")
            let header = try #require(text.range(of: "FRAME\n")).upperBound.utf16Offset(in: text)
            let middle = ending.output.dropFirst(header + 150 * 451).prefix(451)
            #expect(middle.prefix(100).allSatisfy { $0 < 2 } == isBlackAside)
            #expect(middle.dropFirst(140).prefix(170).contains { $0 > 60 })
        }
    }
}
