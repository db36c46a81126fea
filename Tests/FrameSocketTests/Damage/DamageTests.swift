import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// What a receiver sees of a source that states its damage.
///
/// Damage that is too small shows what is not looked at.
@Suite(.tags(.computes)) struct DamageTests {
    /// Rows of 160 gray pixels, each row of one value.
    private func image(_ values: [Range<Int>: UInt8]) throws -> PixelBuffer {
        try PixelBuffer(width: 160, height: 96, format: .gray) { _, _, y in
            values.first { $0.key.contains(y) }?.value ?? 128
        }
    }

    /// Shows P350, P353.
    @Test(arguments: [false, true])
    func `what lies outside the damage is not looked at until everything is`(isCopied: Bool) throws {
        var rig = ImageRig(.init())
        /// Sends an image with damage in some rows, after which rows of the received one have values, as far as a JPEG keeps
        /// them.
        func send(_ image: PixelBuffer, _ rows: Range<Int>?, _ values: [Int: UInt8]) throws {
            let damage = rows.map { rows in
                ImageDamage([.init(x: 0, y: rows.lowerBound, width: 160, height: rows.count)], of: image.size)
            }
            if isCopied {
                try rig.offer(copying: image, damage: damage)
            } else {
                rig.offer(.pixels(image), damage: damage)
            }
            let received = try JPEGDecoder().decode(bytes: try #require(rig.messages.last).jpeg.array(), as: .gray)
            for (row, value) in values {
                let found = received.row(row)[80]
                #expect(abs(Int(found) - Int(value)) <= 3, "row \(row): \(found)")
            }
        }
        try send(try image([:]), 0..<0, [8: 128, 80: 128])
        // The damage is too small: the row at 80 stays as it was.
        let second = try image([0..<16: 10, 64..<96: 200])
        try send(second, 0..<16, [8: 10, 80: 128])
        try send(second, 0..<0, [8: 10, 80: 128])
        // Its next change, or no damage, shows it.
        try send(second, 80..<81, [8: 10, 70: 128, 80: 200])
        try send(try image([0..<16: 40, 64..<96: 220]), nil, [8: 40, 70: 220, 80: 220])
        #expect(rig.messages.count == 5)
    }
}
