import Foundation
import FrameSocket

extension Peer {
    /// Frames of any size, as fast as they are taken or at some pace.
    mutating func sendVideo(until deadline: ContinuousClock.Instant) async {
        let connection = connection()
        let pause = [Duration.zero, .milliseconds(2), .milliseconds(16)].randomElement(using: &random) ?? .zero
        var sequence: UInt64 = 0
        do {
            try await connection.open(within: .seconds(10))
            while ContinuousClock.now < deadline {
                try await connection.send(nextFrame(sequence))
                sequence += 1
                if pause > .zero { try await Task.sleep(for: pause) }
            }
        } catch {
            // The host may end it when it likes.
        }
        connection.close()
        _ = try? await connection.closed()
    }

    /// Images by way of an uploader, which follows the host's requests.
    mutating func sendImages(until deadline: ContinuousClock.Instant) async {
        let uploader = SampleUploader(connection: connection())
        do {
            try await uploader.connection.open(within: .seconds(10))
            while ContinuousClock.now < deadline, uploader.connection.closeReason == nil {
                uploader.send(try Content.image(&random))
                try await Task.sleep(for: .milliseconds(10))
            }
        } catch {}
        uploader.connection.close()
        _ = try? await uploader.connection.closed()
    }

    /// Images in shared memory, by way of an uploader.
    mutating func share(until deadline: ContinuousClock.Instant) async {
        let uploader = SampleUploader(connection: connection(), configuration: .init(sharesMemory: true))
        let pause = [Duration.milliseconds(1), .milliseconds(4), .milliseconds(16)].randomElement(using: &random)
        do {
            try await uploader.connection.open(within: .seconds(10))
            var (width, height) = Content.size(&random)
            while ContinuousClock.now < deadline, uploader.connection.closeReason == nil {
                if Int.random(in: 0..<50, using: &random) == 0 { (width, height) = Content.size(&random) }
                var image = try PixelBuffer(width: width, height: height, format: .bgra)
                let hash = try Content.fill(&image, &random)
                let orientation: FrameOrientation = kind.isDoomed ? Content.doomedOrientation : .up
                uploader.send(consume image, orientation: orientation, timestamp: hash)
                try await Task.sleep(for: pause ?? .milliseconds(4))
            }
        } catch {}
        uploader.connection.close()
        _ = try? await uploader.connection.closed()
    }

    /// Frames and sound, and answers to what the host asks.
    mutating func talk(until deadline: ContinuousClock.Instant) async {
        let connection = connection()
        var sequence: UInt64 = 0
        do {
            try await connection.open(within: .seconds(10))
            while ContinuousClock.now < deadline {
                for kind in AudioKind.allCases {
                    let samples = Content.bytes(4 * Int.random(in: 1...2048, using: &random), &random)
                    let message = AudioBlock(
                        kind: kind,
                        sampleRate: 44_100,
                        channels: 2,
                        timestamp: Content.hash(samples.span),
                        sequence: sequence,
                        samples: FrameBytes(samples)
                    )
                    _ = try connection.send(message)
                }
                do {
                    try await connection.send(nextFrame(sequence))
                    sequence += 1
                } catch {
                    guard error.code == .paused else { throw error }
                }
                try await Task.sleep(for: .milliseconds(5))
            }
        } catch {}
        connection.close()
        _ = try? await connection.closed()
    }

    /// Connections one after another, each for a few frames.
    mutating func flap(until deadline: ContinuousClock.Instant) async {
        while ContinuousClock.now < deadline {
            let connection = connection()
            do {
                try await connection.open(within: .seconds(10))
                for sequence in 0..<UInt64.random(in: 0...3, using: &random) {
                    try await connection.send(nextFrame(sequence))
                }
            } catch {}
            connection.close()
            _ = try? await connection.closed()
        }
    }

    private mutating func nextFrame(_ sequence: UInt64) -> FrameMessage {
        // No shorter than what is never padded, so that the hash is that of the whole body.
        let most = [20_000, 100_000, 1_500_000].randomElement(using: &random) ?? 20_000
        let bytes = Content.bytes(.random(in: FramePadding.minimumBodyByteCount...most, using: &random), &random)
        return Content.frame(bytes, sequence: sequence, isDoomed: kind == .doomed)
    }
}
