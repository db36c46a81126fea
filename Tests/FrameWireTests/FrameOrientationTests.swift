import FrameWire
import TestDescriptions
import Testing

@Suite("Orientations", .tags(.computes))
struct FrameOrientationTests {
    /// The mirroring, the rotation, that of existing receivers, and what becomes of the image abc / def.
    static let table: [(FrameOrientation, UInt8, isMirrored: Bool, rotation: Int, deployed: Int, upright: [String])] = [
        (.unknown, 0, false, 0, 0, ["abc", "def"]),
        (.up, 1, false, 0, 0, ["abc", "def"]),
        (.upMirrored, 2, true, 0, 0, ["cba", "fed"]),
        (.down, 3, false, 180, 180, ["fed", "cba"]),
        (.downMirrored, 4, true, 180, 0, ["def", "abc"]),
        // The transpose.
        (.leftMirrored, 5, true, 270, 0, ["ad", "be", "cf"]),
        (.right, 6, false, 270, 270, ["cf", "be", "ad"]),
        // The transverse.
        (.rightMirrored, 7, true, 90, 0, ["fc", "eb", "da"]),
        (.left, 8, false, 90, 90, ["da", "eb", "fc"]),
    ]

    @Test func `each value flips and rotates an image as the table says`() {
        #expect(Self.table.map(\.0) == FrameOrientation.allCases && FrameOrientation(rawValue: 9) == nil)
        for (orientation, number, isMirrored, rotation, deployed, upright) in Self.table {
            #expect(FrameOrientation(rawValue: number) == orientation)
            #expect(orientation.isMirrored == isMirrored && orientation.rotation == rotation)
            #expect(orientation.deployedRotation == deployed && orientation.swapsAxes == (upright.count == 3))
            var image = ["abc", "def"].map(Array.init)
            if orientation.isMirrored { image = image.map { $0.reversed() } }
            for _ in 0..<(orientation.rotation / 90) { image = Self.turnedClockwise(image) }
            #expect(image.map { String($0) } == upright, "\(orientation)")
        }
    }

    private static func turnedClockwise(_ image: [[Character]]) -> [[Character]] {
        image[0].indices.map { column in image.reversed().map { $0[column] } }
    }
}

@Suite("Padding", .tags(.computes))
struct FramePaddingTests {
    @Test(
        arguments: [
            (-1, 10_240), (Int.min, 10_240), (0, 10_240), (1, 10_239), (10_239, 1), (10_240, 0), (10_241, 0),
            (Int.max, 0),
        ]
    )
    func `padding fills a body up to 10,240 bytes and no longer one`(body: Int, padding: Int) {
        #expect(FramePadding.byteCount(forBodyOf: body) == padding)
    }
}
