import FrameWire
import TestDescriptions
import Testing

@Suite("Orientations", .tags(.computes))
struct FrameOrientationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var orientation: FrameOrientation
        var number: UInt8
        var isMirrored: Bool
        var rotation: Int
        var deployedRotation: Int
        /// What becomes of the image abc / def.
        var upright: [String]

        var testDescription: String { "\(orientation)" }
    }

    static let table: [Row] = [
        Row(
            orientation: .unknown,
            number: 0,
            isMirrored: false,
            rotation: 0,
            deployedRotation: 0,
            upright: ["abc", "def"]
        ),
        Row(orientation: .up, number: 1, isMirrored: false, rotation: 0, deployedRotation: 0, upright: ["abc", "def"]),
        Row(
            orientation: .upMirrored,
            number: 2,
            isMirrored: true,
            rotation: 0,
            deployedRotation: 0,
            upright: ["cba", "fed"]
        ),
        Row(
            orientation: .down,
            number: 3,
            isMirrored: false,
            rotation: 180,
            deployedRotation: 180,
            upright: ["fed", "cba"]
        ),
        Row(
            orientation: .downMirrored,
            number: 4,
            isMirrored: true,
            rotation: 180,
            deployedRotation: 0,
            upright: ["def", "abc"]
        ),
        // The transpose.
        Row(
            orientation: .leftMirrored,
            number: 5,
            isMirrored: true,
            rotation: 270,
            deployedRotation: 0,
            upright: ["ad", "be", "cf"]
        ),
        Row(
            orientation: .right,
            number: 6,
            isMirrored: false,
            rotation: 270,
            deployedRotation: 270,
            upright: ["cf", "be", "ad"]
        ),
        // The transverse.
        Row(
            orientation: .rightMirrored,
            number: 7,
            isMirrored: true,
            rotation: 90,
            deployedRotation: 0,
            upright: ["fc", "eb", "da"]
        ),
        Row(
            orientation: .left,
            number: 8,
            isMirrored: false,
            rotation: 90,
            deployedRotation: 90,
            upright: ["da", "eb", "fc"]
        ),
    ]

    @Test(arguments: table)
    func `each value flips and rotates an image as the table says`(row: Row) {
        let orientation = row.orientation
        #expect(FrameOrientation(rawValue: row.number) == orientation)
        #expect(orientation.isMirrored == row.isMirrored)
        #expect(orientation.rotation == row.rotation)
        #expect(orientation.deployedRotation == row.deployedRotation)
        var image = ["abc", "def"].map(Array.init)
        if orientation.isMirrored { image = image.map { $0.reversed() } }
        for _ in 0..<(orientation.rotation / 90) { image = Self.turnedClockwise(image) }
        #expect(image.map { String($0) } == row.upright)
        #expect(orientation.swapsAxes == (row.upright.count == 3))
    }

    @Test func `the table has every value, and none is beyond it`() {
        #expect(Self.table.map(\.orientation) == FrameOrientation.allCases)
        #expect(FrameOrientation(rawValue: 9) == nil)
    }

    private static func turnedClockwise(_ image: [[Character]]) -> [[Character]] {
        image[0].indices.map { column in image.reversed().map { $0[column] } }
    }
}
