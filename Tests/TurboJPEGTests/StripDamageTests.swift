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
        func encode(_ damage: RowSet?) throws -> StripChanges {
            let (jpeg, changes) = try strips.encode(image, with: encoder, damage: damage)
            #expect(try jpeg == StripEncoder().encode(image, with: encoder).jpeg)
            return changes
        }
        #expect(try encode(rows()).hashedCount == 20)
        #expect(try encode(rows()).hashedCount == 0)
        try image.withMutableRow(100) { $0[5] ^= 0xFF }
        let third = try encode(rows(95..<101, 319..<320))
        #expect(third.hashedCount == 3 && third.codedCount == 1 && third.rows == [96..<112])
        // A strip that was encoded often without a hash of all its rows.
        for _ in 0..<8 {
            try image.withMutableRow(200) { $0[7] &+= 1 }
            #expect(try encode(rows(200..<201)).codedCount == 1)
        }
        #expect(try encode(rows()).codedCount == 0)
        #expect(try encode(nil).hashedCount == 20)
    }

    /// Shows P350.
    @Test func `damage is not relied on without strips of the last image`() throws {
        var image = try testImage(160, 320, as: .bgra)
        func hashedCount(_ encoder: JPEGEncoder = JPEGEncoder()) throws -> Int {
            let damage = RowSet(height: image.height)
            return try strips.encode(image, with: encoder, damage: damage).changes.hashedCount
        }
        #expect(try hashedCount() == 20 && hashedCount() == 0)
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
}
