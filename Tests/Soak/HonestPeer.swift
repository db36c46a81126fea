import Foundation
import FrameSocket

extension Peer {
    /// Frames of any size, as fast as they are taken or at some pace; one that talks sends sound as well.
    mutating func sendFrames(atMost count: UInt64 = .max, until deadline: ContinuousClock.Instant) async {
        let connection = connection()
        let pauses = kind == .talker ? [Duration.milliseconds(5)] : [.zero, .milliseconds(2), .milliseconds(16)]
        let pause = pauses.randomElement(using: &random) ?? .zero
        var sequence: UInt64 = 0
        do {
            try await connection.open(within: .seconds(10))
            while ContinuousClock.now < deadline, sequence < count {
                for sound in kind == .talker ? AudioKind.allCases : [] {
                    _ = try connection.send(audio(sound, sequence))
                }
                do {
                    try await connection.send(nextFrame(sequence))
                    sequence += 1
                } catch {
                    guard error.code == .paused else { throw error }
                    try await Task.sleep(for: .milliseconds(5))
                }
                if pause > .zero { try await Task.sleep(for: pause) }
            }
        } catch {
            // The host may end it when it likes.
        }
        connection.close()
        _ = try? await connection.closed()
    }

    /// Images by way of an uploader, which follows the host's requests, in shared memory or as JPEGs.
    mutating func sendImages(sharesMemory: Bool, until deadline: ContinuousClock.Instant) async {
        let uploader = SampleUploader(connection: connection(), configuration: .init(sharesMemory: sharesMemory))
        let pauses = [Duration.milliseconds(1), .milliseconds(4), .milliseconds(16)]
        let pause = pauses.randomElement(using: &random) ?? .zero
        do {
            try await uploader.connection.open(within: .seconds(10))
            var (width, height) = Content.size(&random)
            while ContinuousClock.now < deadline, uploader.connection.closeReason == nil {
                if Int.random(in: 0..<50, using: &random) == 0 { (width, height) = Content.size(&random) }
                var image = try PixelBuffer(width: width, height: height, format: .bgra)
                let hash = try Content.fill(&image, &random)
                let orientation: FrameOrientation = kind.isDoomed ? Content.doomedOrientation : .up
                uploader.send(consume image, orientation: orientation, timestamp: hash)
                try await Task.sleep(for: pause)
            }
        } catch {}
        uploader.connection.close()
        _ = try? await uploader.connection.closed()
    }

    /// Connections one after another, each for a few frames.
    mutating func flap(until deadline: ContinuousClock.Instant) async {
        while ContinuousClock.now < deadline {
            await sendFrames(atMost: .random(in: 0...3, using: &random), until: deadline)
        }
    }

    private mutating func audio(_ kind: AudioKind, _ sequence: UInt64) -> AudioBlock {
        let samples = Content.bytes(4 * Int.random(in: 1...2048, using: &random), &random)
        return AudioBlock(
            kind: kind,
            sampleRate: 44_100,
            channels: 2,
            timestamp: Content.hash(samples.span),
            sequence: sequence,
            samples: FrameBytes(samples)
        )
    }

    private mutating func nextFrame(_ sequence: UInt64) -> FrameMessage {
        // No shorter than what is never padded, so that the hash is that of the whole body.
        let most = [20_000, 100_000, 1_500_000].randomElement(using: &random) ?? 20_000
        let bytes = Content.bytes(.random(in: FramePadding.minimumBodyByteCount...most, using: &random), &random)
        return FrameMessage(
            jpeg: FrameBytes(bytes),
            info: FrameInfo(
                bufferSize: BufferSize(width: kind.isDoomed ? Content.doomedWidth : 1, height: 1),
                timestamp: Content.hash(bytes.span),
                sequence: sequence
            )
        )
    }
}
