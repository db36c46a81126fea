import Foundation
import TestSupport
import Testing

/// What `framesocket send` sends of PNG files; `PNGTests` has every kind of them.
@Suite(.serialized) struct PNGFileTests {
    private let place = Workplace.new

    @Test func `transparent pixels show the background`() async throws {
        let png = HandmadePNG(width: 64, height: 64, kind: .rgba, depth: 8) { _, _, channel in channel == 1 ? 255 : 0 }
        let file = try place.file("x.png", png.bytes)
        for (options, color) in [("", [255, 255, 255]), (" --background #4080c0", [0x40, 0x80, 0xC0])] {
            let receiver = try place.framesocket(words: "receive $S --count 1 --raw rgb")
            try await place.framesocket(words: "send $S \(file) --quality 100 --wait 30\(options)").ended(0)
            let pixels = await receiver.ended().output
            // What JPEG changes of even areas.
            #expect(pixels.count == 3 * 64 * 64 && zip(pixels, color).allSatisfy { abs(Int($0) - $1) <= 2 })
        }
    }

    #if os(Linux)
        @Test func `texts and profiles that inflate to megabytes take no memory`() async throws {
            var png = HandmadePNG(width: 64, height: 64, kind: .rgb, depth: 8) { x, y, _ in x + y }
            // 4 MiB in each chunk, of which none is needed.
            let zeros = [0x61, 0, 0] + HandmadePNG.deflatedZeros(16_256)
            png.chunks =
                Array(repeating: HandmadePNG.chunk("zTXt", zeros), count: 60)
                + Array(repeating: HandmadePNG.chunk("iTXt", [0x61, 0, 1, 0, 0, 0] + zeros[3...]), count: 60)
                + [HandmadePNG.chunk("iCCP", zeros)]
            let receiver = try await place.receiver("--json")
            let sender = try place.framesocket(
                ["send", place.socket, place.file("x.png", png.bytes), "--loop", "0", "--fps", "20"]
            )
            try await receiver.lines(2 + 2)
            #expect(try sender.peakMemory() < 60_000_000)
            await sender.ended(by: .interrupt, 130)
        }
    #endif
}
