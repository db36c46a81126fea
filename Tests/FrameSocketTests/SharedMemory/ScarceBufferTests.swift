import FrameTransport
import Locking
import TestSupport
import Testing
import TurboJPEG

@testable import FrameSocket

/// Shared buffers that a receiver keeps.
@Suite struct ScarceBufferTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P287.
    @Test func `a receiver that keeps every buffer gets the latest frame when it releases one`() async throws {
        var pair = try await SharedPair(directory)
        let image = try testImage(32, 32, as: .gray)
        var kept: [Frame] = []
        for _ in 0..<Sharing.count {
            pair.uploader.send(image)
            kept.append(try await pair.next())
        }
        for value in [1, 2, 3] as [UInt8] {
            var other = image
            try other.fill(value)
            #expect(pair.uploader.send(other) == .taken)
        }
        let uploader = pair.uploader
        #expect(await becomesTrue { uploader.statistics.sent == 3 && uploader.statistics.inProgress == 1 })
        kept.removeFirst()
        let frame = try await pair.next()
        #expect(try FrameDecoder().decode(frame, as: .gray).image.row(0) == [UInt8](repeating: 3, count: 32))
        #expect(pair.uploader.statistics.drops == [.superseded: 2])
    }
}
