import Foundation
import Testing

/// Raw video of one size: whole images between bars, images that cover it, and stretched ones.
@Suite(.serialized) struct RenderModeTests {
    private let place = Workplace.new
    private let photo = Places.fixture("jpeg/chelsea-444.jpg")

    private static let modes = ["--letterbox", "--fill", "--stretch"]

    /// Smaller and larger than the photo of 451x300, in one direction or in both.
    ///
    /// Shows P336.
    @Test(arguments: modes, [(321, 101), (300, 900)])
    func `the pixels are those that Pillow makes of the same JPEG`(mode: String, size: (Int, Int)) async throws {
        let (width, height) = size
        let receiver = try place.framesocket(words: "receive $S --count 1 --quiet --raw rgb \(mode) \(width)x\(height)")
        try await place.send(photo, "--wait", "30", "--passthrough", "--quiet").checked(0)
        let ending = await receiver.ended()
        try #require(ending.output.count == 3 * width * height)
        let raw = try place.file("raw", Array(ending.output))
        let told = try await place.script("compare_modes", photo, raw, "\(width)", "\(height)")
        for other in Self.modes {
            let difference = try #require(try told.events(other).first?["difference"])
            #expect(other == mode ? difference < 3_000 : difference > 8_000, "\(other): \(difference)")
        }
    }
}
