import Foundation
import Testing

/// Images of turned senders, as a preview shows them.
@Suite(.serialized) struct PreviewUprightTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// Which of the colours stands where in the upright image, from what orientations mean: flipped where they are
    /// mirrored, then turned clockwise.
    private static func upright(_ orientation: Int) -> [Int] {
        let flipped = [2, 4, 5, 7].contains(orientation) ? [1, 0, 3, 2] : [0, 1, 2, 3]
        let turns = [8: 1, 7: 1, 3: 2, 4: 2, 6: 3, 5: 3][orientation] ?? 0
        return (0..<turns).reduce(flipped) { image, _ in [image[2], image[0], image[3], image[1]] }
    }

    /// Sides that consist of whole blocks, which are moved, and sides that do not, so that the image is encoded again.
    @Test(arguments: [(96, 64), (90, 62)], 0...8)
    func `a rotated image is upright and keeps all its pixels`(
        size: (width: Int, height: Int),
        orientation: Int
    ) async throws {
        let site = try await PreviewSite(place)
        let format = ["--size", "\(size.width)x\(size.height)", "--format", "rgb"]
        let options = ["--orientation", "\(orientation)", "--subsampling", "4:2:0", "--quality", "95", "--quiet"]
        let sender = try place.framesocket(["send", place.socket, "-"] + format + options, input: .pipe(InputPipe()))
        sender.write(Quarters.pixels(width: size.width, height: size.height))
        let state = try await site.state { $0.frames == 1 }
        let isTurned = orientation > 4
        let (width, height) = isTurned ? (size.height, size.width) : (size.width, size.height)
        #expect(state.width == width && state.height == height && state.orientation == orientation)
        #expect(try await site.get("/snapshot.jpg", "--output", place.path("snapshot.jpg"))["status"] == 200)
        let seen = try await place.djpeg(place.path("snapshot.jpg"))
        try #require(seen.count == width * height * 3)
        for (quarter, colour) in Self.upright(orientation).enumerated() {
            let x = width / 4 + quarter % 2 * width / 2
            let y = height / 4 + quarter / 2 * height / 2
            let pixel = seen[((y * width + x) * 3)..<((y * width + x) * 3 + 3)]
            let isClose = zip(pixel, Quarters.colours[colour]).allSatisfy { abs(Int($0) - Int($1)) < 24 }
            #expect(isClose, "quarter \(quarter) is \(Array(pixel)), not \(Quarters.colours[colour])")
        }
    }
}
