import Foundation
import TestSupport
import Testing

/// What `framesocket send` sends of PNG files; `PNGTests` has every kind of them.
@Suite(.serialized) struct PNGFileTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// A file whose left half is transparent green, and whose right half is opaque.
    private func file(depth: Int = 8) throws -> String {
        let top = 1 << depth - 1
        let png = HandmadePNG(width: 64, height: 64, kind: .rgba, depth: depth) { x, _, channel in
            channel == 1 || channel == 3 && x >= 32 ? top : 0
        }
        return try place.file("x.png", png.bytes)
    }

    /// The first and the last pixel of what arrives, as red, green and blue.
    private func ends(_ arguments: [String]) async throws -> [[UInt8]] {
        let receiver = try place.framesocket(["receive", place.socket, "--count", "1", "--raw", "rgb"])
        let quality = ["--quality", "100", "--subsampling", "4:4:4", "--wait", "30"]
        let sent = try await place.framesocket(["send", place.socket] + quality + arguments).ended()
        #expect(sent.status == 0, "\(sent)")
        let pixels = await receiver.ended().output
        return [Array(pixels.prefix(3)), Array(pixels.suffix(3))]
    }

    @Test(
        arguments: [
            ([], [255, 255, 255]), (["--background", "white"], [255, 255, 255]),
            (["--background", "black"], [0, 0, 0]), (["--background", "#4080c0"], [0x40, 0x80, 0xC0]),
        ] as [([String], [Int])]
    )
    func `transparent pixels show the background`(options: [String], color: [Int]) async throws {
        for depth in [8, 16] {
            let found = try await ends([try file(depth: depth)] + options)
            // What JPEG changes of even areas.
            for (one, other) in zip(found[0], color) { #expect(abs(Int(one) - other) <= 2, "\(found)") }
            for (one, other) in zip(found[1], [0, 255, 0]) { #expect(abs(Int(one) - other) <= 2, "\(found)") }
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
            sender.send(.interrupt)
            #expect(await sender.ended().status == 130)
        }
    #endif
}
