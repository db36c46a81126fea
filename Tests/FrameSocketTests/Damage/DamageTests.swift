import FrameSocketTesting
import FrameTransport
import Locking
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// What a receiver sees of a source that states its damage.
///
/// Damage that is too small shows what is not looked at.
@Suite(.timeLimit(.minutes(5))) struct DamageTests {
    private typealias Rectangle = PixelBuffer.Rectangle

    /// Rows of 160 gray pixels, each row of one value.
    private func image(_ values: [Range<Int>: UInt8], height: Int = 96) throws -> PixelBuffer {
        try PixelBuffer(width: 160, height: height, format: .gray) { _, _, y in
            values.first { $0.key.contains(y) }?.value ?? 128
        }
    }

    private func rows(_ rows: Range<Int>) -> [PixelBuffer.Rectangle] {
        [Rectangle(x: 0, y: rows.lowerBound, width: 160, height: rows.count)]
    }

    /// Whether rows of what was received have values, as far as a JPEG keeps them.
    private func expect(
        _ image: PixelBuffer,
        _ values: [Int: UInt8],
        _ location: SourceLocation = #_sourceLocation
    ) {
        for (row, value) in values {
            let found = image.row(row)[80]
            #expect(abs(Int(found) - Int(value)) <= 3, "row \(row): \(found)", sourceLocation: location)
        }
    }

    private func received(_ visit: RawReceiver.Visit) async throws -> PixelBuffer {
        let body = try #require(try await visit.frame()).body
        return try JPEGDecoder().decode(body.span, as: .gray)
    }

    private func connected(
        _ configuration: SampleUploader.Configuration = .init()
    ) async throws -> (RawReceiver, RawReceiver.Visit) {
        let receiver = try RawReceiver(configuration)
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        return (receiver, visit)
    }

    /// Shows P350, P353.
    @Test(arguments: [false, true])
    func `what lies outside the damage is not looked at until everything is`(isCopied: Bool) async throws {
        let (receiver, visit) = try await connected()
        func send(_ image: PixelBuffer, _ damage: [PixelBuffer.Rectangle]?) async throws -> PixelBuffer {
            if isCopied {
                receiver.uploader.send(copying: image, damage: damage)
            } else {
                receiver.uploader.send(image, damage: damage)
            }
            let received = try await received(visit)
            try await receiver.uploader.settle()
            return received
        }
        expect(try await send(image([:]), []), [8: 128, 80: 128])
        // The damage is too small: the row at 80 stays as it was.
        let second = try image([0..<16: 10, 64..<96: 200])
        expect(try await send(second, rows(0..<16)), [8: 10, 80: 128])
        expect(try await send(second, []), [8: 10, 80: 128])
        // Its next change, or no damage, shows it.
        expect(try await send(second, rows(80..<81)), [8: 10, 70: 128, 80: 200])
        let third = try image([0..<16: 40, 64..<96: 220])
        expect(try await send(third, nil), [8: 40, 70: 220, 80: 220])
    }

    // MARK: Shared memory

    /// Shows P117, P350, P351.
    @Test(.enabled(if: SharedMemory.isSupported))
    func `in shared memory, only damaged rows are copied and stated`() async throws {
        var pair = try await SharedPair(try TemporaryDirectory())
        try await pair.sharing()
        func received() async throws -> (PixelBuffer, Range<Int>) {
            let frame = try await pair.next()
            let shared = try #require(frame.shared)
            return (try FrameDecoder().decode(frame, as: .gray).image.copied(pool: .init()), shared.changedRows)
        }
        var count: UInt32 = 0
        func send(_ image: PixelBuffer, _ damage: [PixelBuffer.Rectangle]?) async throws -> (PixelBuffer, Range<Int>) {
            pair.uploader.send(image, damage: damage)
            let result = try await received()
            count += 1
            // Every image goes into the buffer of the one before, which has to be free again.
            let uploader = pair.uploader
            try #require(await becomesTrue { uploader.machine.withLock { $0.terms.releases.wrappedSum() } == count })
            try await uploader.settle()
            return result
        }
        _ = try await send(image([:]), nil)
        _ = try await send(image([:]), [])
        let third = try await send(image([0..<16: 10, 64..<96: 200]), rows(0..<16))
        expect(third.0, [8: 10, 80: 128])
        #expect(third.1 == 0..<16)
        let fourth = try await send(image([0..<16: 10, 64..<96: 200]), rows(80..<82))
        expect(fourth.0, [8: 10, 70: 128, 80: 200])
        #expect(fourth.1 == 80..<82)
        let last = try await send(image([0..<16: 10, 64..<96: 210]), nil)
        expect(last.0, [8: 10, 70: 210, 80: 210])
    }
}
