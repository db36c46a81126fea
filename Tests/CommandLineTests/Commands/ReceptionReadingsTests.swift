import Foundation
import FrameSocket
import Testing

@testable import FrameSocketTool

/// What a receiver measures, second by second and in all.
@Suite struct ReceptionReadingsTests {
    /// A frame of `count` bytes that took so long, in nanoseconds, and arrived so long ago.
    private func frame(_ count: Int = 100, latency: UInt64?, age: UInt64 = 0) -> Frame {
        let receivedAt = MonotonicClock.now() - age
        let header = FrameHeader(
            contentLength: count,
            info: FrameInfo(
                bufferSize: BufferSize(width: 64, height: 48),
                orientation: .up,
                timestamp: latency.map { receivedAt - $0 }
            )
        )
        let bytes = [UInt8](repeating: 1, count: count)
        return Frame(.jpeg(FrameBytes(bytes)), header: header, receivedAt: receivedAt)
    }

    @Test func `each reading has the frames, bytes and latency since the last one, and the totals of all`() throws {
        var totals = ReceptionTotals()
        for latency in [1_000_000, 3_000_000] as [UInt64] { totals.add(frame(latency: latency), byteCount: 100) }
        let first = totals.read(connections: 1)
        #expect(first.totals.latency.count == 2 && first.totals.latency.mean == .milliseconds(2))
        #expect(first.totals.latency.maximum == .milliseconds(3))
        #expect(first.framesPerSecond > 0 && first.bytesPerSecond > 0)

        totals.add(frame(latency: 9_000_000), byteCount: 100)
        let second = totals.read(connections: 1)
        #expect(second.totals.latency.count == 1 && second.totals.latency.mean == .milliseconds(9))
        #expect(second.json.contains(#""frames":3,"bytes":300"#) && second.json.contains(#""latency":9000000"#))

        let third = totals.read(connections: 0)
        #expect(third.totals.latency.count == 0 && third.framesPerSecond == 0 && third.bytesPerSecond == 0)
        #expect(!third.json.contains("latency") && third.json.contains(#""width":64,"height":48"#))
    }

    @Test func `a time after the arrival says nothing about latency`() {
        var totals = ReceptionTotals()
        totals.add(frame(latency: nil), byteCount: 100)
        #expect(totals.latency.count == 0)
    }

    @Test func `the time of the last frame is when it came, however long after that it is written`() throws {
        let age: UInt64 = 100_000_000_000
        var totals = ReceptionTotals()
        let before = Date.now.timeIntervalSince1970
        totals.add(frame(latency: nil, age: age), byteCount: 100)
        let server = FrameServer.Statistics()
        let metrics = totals.metrics(.path("/s"), connections: 0, server)
        let after = Date.now.timeIntervalSince1970
        let line = try #require(metrics.split(separator: "\n").last)
        let stamp = try #require(line.split(separator: " ").last.flatMap { Double($0) })
        // Both clocks may be adjusted meanwhile, and the number is rounded.
        #expect(stamp > before - 100 - 10 && stamp < after - 100 + 10)
    }

    @Test func `a sender shows how many frames of how many, how much and how fast`() {
        var totals = SentTotals()
        (totals.frames, totals.bytes, totals.startedAt) = (12, 4_100_000, MonotonicClock.now() - 1_000_000_000)
        let (known, unknown) = (totals.progress(of: 300), totals.progress(of: nil))
        #expect(known.hasPrefix("12 of 300, 4.1 MB, ") && unknown.hasPrefix("12, 4.1 MB, ") && known.hasSuffix("/s"))
    }
}
