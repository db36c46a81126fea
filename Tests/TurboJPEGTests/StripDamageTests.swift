import TestDescriptions
import TestSupport
import Testing

@testable import TurboJPEG

/// Strips of images whose damage is known: what is outside is not looked at.
@Suite(.tags(.computes)) struct StripDamageTests {
    private let strips = StripEncoder()
    private let encoder = JPEGEncoder()

    private func rows(_ ranges: Range<Int>..., of height: Int = 320) -> RowSet {
        var set = RowSet(height: height)
        for range in ranges { set.insert(range) }
        return set
    }

    /// Shows P351.
    @Test func `strips outside the damage are neither hashed nor encoded, and those inside if they have changed`()
        throws
    {
        var image = try testImage(160, 320, as: .bgra)
        func encode(_ damage: RowDamage?) throws -> StripChanges {
            let (jpeg, changes) = try strips.encode(image, with: encoder, damage: damage)
            #expect(try jpeg == StripEncoder().encode(image, with: encoder).jpeg)
            return changes
        }
        #expect(try encode(RowDamage(image: 1, base: 0, rows: rows())).hashedCount == 20)
        #expect(try encode(RowDamage(image: 2, base: 1, rows: rows())).hashedCount == 0)
        try image.withMutableRow(100) { $0[5] ^= 0xFF }
        let third = try encode(RowDamage(image: 3, base: 2, rows: rows(95..<101, 319..<320)))
        #expect(third.hashedCount == 3 && third.codedCount == 1 && third.rows == [96..<112])
        // A strip that was encoded often without a hash of all its rows.
        for number in UInt64(4)..<12 {
            try image.withMutableRow(200) { $0[7] &+= 1 }
            #expect(try encode(RowDamage(image: number, base: number - 1, rows: rows(200..<201))).codedCount == 1)
        }
        #expect(try encode(RowDamage(image: 12, base: 11, rows: rows())).codedCount == 0)
        #expect(try encode(nil).hashedCount == 20)
        #expect(try encode(RowDamage(image: 13, base: 12, rows: rows())).hashedCount == 20)
    }

    /// Shows P350.
    @Test func `damage compared with any other image than the last is not relied on`() throws {
        var image = try testImage(160, 320, as: .bgra)
        var number: UInt64 = 1
        func hashedCount(base: UInt64? = nil, _ encoder: JPEGEncoder = JPEGEncoder()) throws -> Int {
            number += 1
            let damage = RowDamage(image: number, base: base ?? number - 1, rows: RowSet(height: image.height))
            return try strips.encode(image, with: encoder, damage: damage).changes.hashedCount
        }
        _ = try strips.encode(image, with: encoder, damage: RowDamage(image: 1, base: 0, rows: nil))
        #expect(try hashedCount() == 0)
        #expect(try hashedCount(base: 1) == 20 && hashedCount() == 0)
        #expect(try hashedCount(JPEGEncoder(quality: 81)) == 20 && hashedCount(JPEGEncoder(quality: 81)) == 0)
        #expect(try hashedCount() == 20 && hashedCount() == 0)
        image = try testImage(160, 320, as: .rgb)
        #expect(try hashedCount() == 20 && hashedCount() == 0)
        image = try testImage(160, 304, as: .rgb)
        #expect(try hashedCount() == 19 && hashedCount() == 0)
        strips.forget()
        #expect(try hashedCount() == 19 && hashedCount() == 0)
        #expect(throws: TurboJPEGError.self) { try hashedCount(JPEGEncoder(quality: 0)) }
        #expect(try hashedCount() == 19)
    }

    @Test(arguments: [1, 63, 64, 65, 128, 200])
    func `a set of rows is what a set of numbers is`(height: Int) {
        var random = SplitMix(seed: UInt64(height))
        for _ in 0..<50 {
            var (set, numbers) = (RowSet(height: height), Set<Int>())
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let start = Int.random(in: 0...height, using: &random)
                let range = start..<Int.random(in: start...height, using: &random)
                set.insert(range)
                numbers.formUnion(range)
            }
            let ranges = set.ranges
            #expect(ranges.flatMap { Array($0) } == numbers.sorted() && !ranges.contains { $0.isEmpty })
            #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
            #expect(set.isEmpty == numbers.isEmpty && set.range == (numbers.min() ?? 0)..<((numbers.max() ?? -1) + 1))
            let start = Int.random(in: 0...height, using: &random)
            let range = start..<Int.random(in: start...height, using: &random)
            #expect(set.overlaps(range) == range.contains { numbers.contains($0) })
        }
    }
}
