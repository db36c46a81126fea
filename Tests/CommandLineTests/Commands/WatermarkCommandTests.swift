import Foundation
import TestSupport
import Testing

/// `framesocket send --watermark`, from one process to another.
@Suite(.serialized) struct WatermarkCommandTests {
    private let place = Workplace.new

    /// A square whose left half is opaque red, and whose right half is transparent.
    private func mark() throws -> String {
        let png = HandmadePNG(width: 40, height: 40, kind: .rgba, depth: 8) { x, _, channel in
            channel == 0 || channel == 3 && x < 20 ? 255 : 0
        }
        return try place.file("mark.png", png.bytes)
    }

    /// Sends a blue image of 120x80, and gives the pixels that arrive.
    private func receive(_ options: [String], receiving: [String]) async throws -> [[UInt8]] {
        let blue = HandmadePNG(width: 120, height: 80, kind: .rgb, depth: 8) { _, _, channel in channel == 2 ? 255 : 0 }
        let source = try place.file("blue.png", blue.bytes)
        let receiver = try place.framesocket(
            ["receive", place.socket, "--count", "1", "--raw", "rgb"] + receiving
        )
        let quality = ["--quality", "100", "--subsampling", "4:4:4", "--wait", "30"]
        try await place.framesocket(["send", place.socket, source] + quality + options).ended(0)
        let ending = await receiver.ended(0)
        return ending.output.pieces(of: 3)
    }

    /// The columns and rows of the pixels that are red.
    private func reds(_ pixels: [[UInt8]], width: Int) -> (columns: ClosedRange<Int>, rows: ClosedRange<Int>)? {
        let places = pixels.indices.filter { pixels[$0][0] > 128 && pixels[$0][2] < 128 }
        let (columns, rows) = (places.map { $0 % width }, places.map { $0 / width })
        guard let left = columns.min(), let right = columns.max(), let top = rows.min(), let bottom = rows.max(),
            places.count == (right - left + 1) * (bottom - top + 1)
        else { return nil }
        return (left...right, top...bottom)
    }

    @Test(
        arguments: [
            // The default: a tenth from both edges, and a tenth wide; the left half of that is red.
            ([], [], 120, 12...17, 8...19),
            (["--watermark-at=-0.125,0.5,0.5"], [], 120, 0...14, 40...79),
            (["--watermark-at", "0.1,0.1,0.5", "--orientation", "7"], ["--upright"], 80, 8...27, 12...51),
            (["--watermark-at", "0.5,0.5,0.25", "--shared"], ["--shared"], 120, 60...74, 40...69),
        ] as [([String], [String], Int, ClosedRange<Int>, ClosedRange<Int>)]
    )
    func `the watermark is where the options say, as the receiver sees it`(
        options: [String],
        receiving: [String],
        width: Int,
        columns: ClosedRange<Int>,
        rows: ClosedRange<Int>
    ) async throws {
        let pixels = try await receive(["--watermark", try mark()] + options, receiving: receiving)
        let found = try #require(reds(pixels, width: width), "the red pixels form no rectangle")
        #expect(found.columns == columns && found.rows == rows)
    }
}
