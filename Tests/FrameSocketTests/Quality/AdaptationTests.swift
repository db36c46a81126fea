import FrameSocketTesting
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// Images whose quality follows what is possible, over sockets.
@Suite(.timeLimit(.minutes(5))) struct AdaptationTests {
    /// Bytes for eight images a second at 80, where motion wants 30, so that the quality falls with the second image; unless
    /// this machine is so slow that the image stands still by then.
    private static func adaptation(_ image: PixelBuffer) throws -> SampleUploader.Configuration.Adaptation {
        .init(maximumByteRate: try JPEGEncoder(quality: 80).encode(image).count * 8, preference: .motion)
    }

    /// Two images that differ everywhere, and are as large as JPEGs.
    private static func images() throws -> [PixelBuffer] {
        let image = try testImage(320, 240)
        return [image, try image.upright(from: .down)]
    }

    /// The first frame that another uploader sends of an image.
    private func reference(_ image: PixelBuffer, quality: Int = 80) async throws -> [UInt8] {
        let receiver = try RawReceiver(.init(quality: quality))
        let visit = try await receiver.accept()
        receiver.uploader.send(image)
        return try #require(try await visit.frame()).body
    }

    /// Shows P341.
    @Test func `an image that stands still is sent again at the highest quality, as the same frame, once`() async throws
    {
        let images = try Self.images()
        let receiver = try RawReceiver(.init(adaptation: try Self.adaptation(images[0])))
        let visit = try await receiver.accept()
        let uploader = receiver.uploader
        uploader.send(images[0], timestamp: 1_000)
        let first = try #require(try await visit.frame())
        #expect(first.body == (try await reference(images[0])))
        uploader.send(images[1], timestamp: 2_000)
        let sharp = try await reference(images[1])
        var frames: [PeerMessage] = []
        while frames.last?.body != sharp { frames.append(try #require(try await visit.frame())) }
        #expect(frames.count <= 2 && frames.allSatisfy { $0.timestamp == 2_000 && $0.sequence == 1 })
        #expect(frames.allSatisfy { $0.body.count <= sharp.count })
        // Nothing waits for a repeat to be counted.
        #expect(await becomesTrue { uploader.statistics.sharpened == frames.count - 1 })
        #expect(uploader.statistics.quality == 80)
        // The same image costs nothing more, and neither does a receiver that asks what there is.
        let encodings = uploader.statistics.encoding.count
        uploader.send(images[1], timestamp: 3_000)
        try await uploader.settle()
        try await visit.ask(.helloForImages)
        #expect(try await visit.framesBeforePong(1).isEmpty)
        #expect(uploader.statistics.encoding.count == encodings && uploader.statistics.sent == 2)
    }

    /// Shows P341.
    @Test func `nothing is made sharp during a pause, and the latest image is after it`() throws {
        let images = try Self.images()
        var rig = ImageRig(.init(adaptation: try Self.adaptation(images[0]), usesStrips: false))
        for number in 0..<20 {
            rig.offer(.pixels(images[number % 2]))
            rig.pass(milliseconds: 23)
        }
        let sharp: [UInt8] = try JPEGEncoder(quality: 80).encode(images[1])
        let blurred = try #require(rig.messages.last)
        try #require(blurred.jpeg.count < sharp.count)
        let count = rig.messages.count
        rig.change { $0.isPaused = true }
        rig.pass(milliseconds: 10_000)
        #expect(rig.messages.count == count)
        rig.change { $0.isPaused = false }
        rig.pass(milliseconds: 10_000)
        let last = try #require(rig.messages.last)
        #expect(last.jpeg.array() == sharp && rig.machine.statistics.quality == 80)
    }

    /// Shows P341.
    @Test func `an image that is being made sharp is not sent once there is a newer one`() throws {
        var rig = ImageRig(.init(adaptation: .init(maximumByteRate: 3_000), usesStrips: false))
        for width in [64, 60] {
            try rig.send(.pixels(try testImage(width, 48)))
            rig.now += 5_000_000_000
        }
        #expect(try #require(rig.jobs.last?.quality) < 80)
        rig.machine.deadlinePassed(at: rig.now)
        let sharp = try rig.begin()
        #expect(sharp.quality == 80)
        rig.offer(.pixels(try testImage(56, 48)), settles: false)
        rig.end(sharp)
        rig.pass(milliseconds: 5_000)
        #expect(rig.messages.map(\.bufferSize.width).prefix(3) == [64, 60, 56])
    }

    /// Shows P340.
    @Test func `a receiver states the maximum, and withdraws it`() async throws {
        let images = try Self.images()
        let rate = try #require(try Self.adaptation(images[0]).maximumByteRate)
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        try await visit.ask(.helloForImages, .prefer(.init(byteRate: rate)))
        _ = try await visit.framesBeforePong(1)
        let uploader = receiver.uploader
        #expect(uploader.configuration.adaptation?.maximumByteRate == rate)
        uploader.send(images[0])
        _ = try await visit.frame()
        uploader.send(images[1])
        let sharp = try await reference(images[1])
        while let frame = try await visit.frame(), frame.body != sharp { #expect(frame.body.count < sharp.count) }
        #expect(uploader.statistics.quality == 80)
        try await visit.ask(.prefer(.init()))
        _ = try await visit.framesBeforePong(2)
        #expect(uploader.configuration.adaptation == nil)
        // A lower one of the program's own stays.
        uploader.update { $0.adaptation = .init(maximumByteRate: 1_000, minimumQuality: 50) }
        try await visit.ask(.prefer(.init(byteRate: rate)))
        _ = try await visit.framesBeforePong(3)
        #expect(uploader.configuration.adaptation == .init(maximumByteRate: 1_000, minimumQuality: 50))
    }

    /// Bytes for two images a second at 80.
    @Test(arguments: [true, false]) func `text beside something that moves is sharp, at the cost of frames`(
        isText: Bool
    ) throws {
        let image = try testImage(320, 240)
        let turned = try image.upright(from: .down)
        let rate = try JPEGEncoder(quality: 80).encode(image).count * 2
        var rig = ImageRig(.init(adaptation: .init(maximumByteRate: rate)))
        var qualities: [Int?] = []
        for number in 0..<200 {
            var image = isText || number % 2 == 0 ? image : turned
            for row in 0..<16 {
                try image.withMutableRow(row) { for index in $0.indices { $0[index] = UInt8(number) } }
            }
            rig.pass(milliseconds: 23)
            let count = rig.messages.count
            rig.offer(.pixels(image))
            if rig.messages.count > count, number > 100 { qualities.append(rig.machine.statistics.quality) }
        }
        #expect(qualities.count > 2 && qualities.allSatisfy { $0 ?? 0 < 80 } != isText, "\(qualities)")
        #expect(!isText || qualities.allSatisfy { $0 == 80 }, "\(qualities)")
    }

    /// Shows P341.
    @Test(arguments: [true, false], [true, false])
    func `when nothing limits the quality any longer, only an image that was sent at less is sent again`(
        isReceivers: Bool,
        isBlurred: Bool
    ) throws {
        var configuration = SampleUploader.Configuration(usesStrips: false)
        var rig = ImageRig(configuration)
        let rate = isBlurred ? 3_000 : 1_000_000
        if isReceivers {
            rig.change { $0.preferences = .init(byteRate: rate) }
        } else {
            configuration.adaptation = .init(maximumByteRate: rate)
            rig.machine.update(configuration, at: rig.now)
        }
        try rig.send(.pixels(try testImage(64, 48)))
        rig.now += 5_000_000_000
        try rig.send(.pixels(try testImage(60, 48)))
        if isReceivers {
            rig.change { $0.preferences = .init() }
        } else {
            configuration.adaptation = nil
            rig.machine.update(configuration, at: rig.now)
            rig.settle()
        }
        #expect(rig.messages.map(\.info.sequence) == (isBlurred ? [0, 1, 1] : [0, 1]))
        #expect(rig.machine.statistics.sharpened == (isBlurred ? 1 : 0))
        // One that was set before fires for nothing, and not again.
        if let timer = rig.machine.timer { rig.machine.deadlinePassed(at: timer) }
        let timer = rig.machine.timer
        #expect(timer == nil)
    }

    /// Shows P341.
    @Test(arguments: [
        SampleUploader.Pacing.everyFrame, .framesPerSecond(5), .every(3), .adaptive(),
        .everyFrame.skippingUnchanged(keepAlive: .seconds(1)), .adaptive().skippingUnchanged(keepAlive: .seconds(1)),
        .framesPerSecond(5).skippingUnchanged(keepAlive: .milliseconds(300)),
    ])
    func `a screen that stands still becomes sharp once although it is submitted again and again`(
        pacing: SampleUploader.Pacing
    ) throws {
        let images = try Self.images()
        var rig = ImageRig(.init(adaptation: try Self.adaptation(images[0]), pacing: pacing, usesStrips: false))
        func run(_ image: (Int) -> PixelBuffer, _ count: Int) {
            for index in 0..<count {
                rig.pass(milliseconds: 23)
                rig.offer(FrameContent.pixels(image(index)))
            }
        }
        run({ images[$0 % 2] }, 60)
        run({ _ in images[1] }, 60)
        let sharp = try #require(rig.messages.last)
        #expect(rig.machine.statistics.quality == 80 && rig.machine.statistics.sharpened <= 1)
        let count = rig.messages.count
        run({ _ in images[1] }, 300)
        let later = rig.messages[count...]
        #expect(later.isEmpty != pacing.skipsUnchanged)
        #expect(later.allSatisfy { $0.jpeg.count == sharp.jpeg.count && $0.info == sharp.info })
        #expect(rig.machine.statistics.sharpened <= 1)
    }
}
