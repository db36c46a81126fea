import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct RowSetTests {
    /// Where an image of 48 rows is changed, and the rows in which it differs.
    struct Change: Sendable, CustomTestStringConvertible {
        let plane: Int
        let rows: [Int]
        let expected: [Int]

        var testDescription: String { "plane \(plane), rows \(rows)" }
    }

    /// Shows P117.
    @Test(arguments: [
        Change(plane: 0, rows: [], expected: []),
        Change(plane: 0, rows: [0], expected: [0]),
        Change(plane: 0, rows: [7, 47], expected: [7, 47]),
        // The rows of the sample, but for one.
        Change(plane: 0, rows: [0, 16], expected: [0, 16]),
        Change(plane: 0, rows: Array(1..<48), expected: Array(1..<48)),
        Change(plane: 1, rows: [0, 8, 16], expected: [0, 1, 16, 17, 32, 33]),
        Change(plane: 1, rows: [23], expected: [46, 47]),
    ])
    func `the rows that differ are found in every plane`(_ change: Change) throws {
        let image = try testImage(24, 48, as: .nv12)
        #expect(Self.rows(try changed(image, change).rows(differingFrom: image)) == change.expected)
    }

    /// Shows P117.
    @Test func `if each row of the sample differs, no other row is compared`() throws {
        let image = try testImage(24, 48, as: .bgra)
        let sample = Array(stride(from: 0, to: 48, by: PixelBuffer.rowsPerSample))
        let other = try changed(image, Change(plane: 0, rows: sample, expected: []))
        #expect(try other.rows(differingFrom: image) == RowSet(allOf: 48))
    }

    @Test(arguments: [1, 63, 64, 65, 128, 200])
    func `a set of rows is what a set of numbers is`(height: Int) {
        var random = SplitMix(seed: UInt64(height))
        func range() -> Range<Int> {
            let start = Int.random(in: 0...height, using: &random)
            return start..<Int.random(in: start...height, using: &random)
        }
        for round in 0..<50 {
            var (set, numbers) = (RowSet(height: height), Set<Int>())
            // All rows, all but one, and any.
            if round == 0 { (set, numbers) = (RowSet(allOf: height), Set(0..<height)) }
            let added = round == 1 ? [0..<height / 2, height / 2 + 1..<height] : (0..<round % 5).map { _ in range() }
            for range in added {
                set.insert(range)
                numbers.formUnion(range)
            }
            let ranges = set.ranges
            #expect(ranges.flatMap { Array($0) } == numbers.sorted() && !ranges.contains { $0.isEmpty })
            #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
            #expect(set.isEmpty == numbers.isEmpty && set.range == (numbers.min() ?? 0)..<((numbers.max() ?? -1) + 1))
            #expect(set.hasAll(of: height) == (numbers.count == height))
            let part = range()
            #expect(set.overlaps(part) == part.contains { numbers.contains($0) })
        }
    }

    /// Rows of 64 bytes, with and without padding.
    @Test(arguments: [64, 48], [nil, RowSet(allOf: 6)] as [RowSet?])
    func `a copy of all rows has every sample and no padding`(width: Int, rows: RowSet?) throws {
        var image = try PixelBuffer(width: width, height: 6, format: .gray, bytesPerRow: 64)
        try image.withMutablePlane(0) { for index in $0.indices { $0[index] = 7 } }
        let target = try PixelBuffer(width: width, height: 6, format: .gray, bytesPerRow: 64, zeroFilled: true)
        try unsafe image.copy(rows, over: target)
        let expected = [UInt8](repeating: 7, count: width) + [UInt8](repeating: 0, count: 64 - width)
        target.withPlane(0) { plane in
            for start in stride(from: 0, to: plane.count - 64, by: 64) {
                #expect((start..<start + 64).map { plane[$0] } == expected)
            }
        }
        #expect(target.hasSamePixels(as: image))
    }

    private func changed(_ image: PixelBuffer, _ change: Change) throws -> PixelBuffer {
        var image = image
        for row in change.rows { try image.withMutableRow(row, ofPlane: change.plane) { $0[5] ^= 1 } }
        return image
    }

    private static func rows(_ set: RowSet, _ height: Int = 48) -> [Int] { (0..<height).filter(set.contains) }
}
