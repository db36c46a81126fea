import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// What an uploader holds, and what gives way when that is too much.
@Suite(.tags(.computes)) struct UploaderMemoryTests {
    /// Shows P192.
    @Test func `everything that is held is counted, and released at the end`() {
        var rig = UploaderRig(.init(pacing: .every(2)))
        rig.run([.connect, .sending(false), .offer(1, bytes: 1000), .offer(2, bytes: 2), .offer(3, bytes: 200)])
        // The first is under way, the third waits.
        #expect(rig.machine.heldBytes == 1200)
        rig.run(.offer(4, bytes: 30))
        #expect(rig.machine.heldBytes == 1230)
        rig.run([.sending(true), .wait(0)])
        #expect(rig.machine.heldBytes == 230)
        rig.run([.close])
        #expect(rig.machine.heldBytes == 0)
    }

    private static func limit(_ byteCount: Int?) -> UploaderRig.Step {
        .update(.init(pacing: .every(2), maximumMemory: byteCount))
    }

    /// Shows P307, P308.
    @Test(
        arguments: [
            (299, 200, [:], nil), (200, 200, [:], nil), (199, 100, [.overMemoryBudget: 1, .paced: 1], nil),
            (99, 0, [.overMemoryBudget: 2], .overMemoryBudget), (-1, 0, [.overMemoryBudget: 2], .overMemoryBudget),
        ] as [(Int, Int, [SampleUploader.DropCause: Int], SampleUploader.DropCause?)]
    )
    func `a lower limit takes the sent frame, then the waiting one, then the deferred one`(
        limit: Int,
        held: Int,
        drops: [SampleUploader.DropCause: Int],
        loss: SampleUploader.DropCause?
    ) {
        var rig = UploaderRig(.init(pacing: .every(2)))
        rig.run([.connect, .offer(1), .encoding(false), .offer(2), .offer(3), .offer(4)])
        #expect(rig.machine.heldBytes == 300 && rig.machine.statistics.drops == [.paced: 2])
        rig.run(Self.limit(limit))
        #expect(rig.machine.heldBytes == held)
        // The second frame was dropped for the pacing, and the third took its place.
        let expected = drops.isEmpty ? [.paced: 2] : drops.merging([.paced: 1], uniquingKeysWith: +)
        #expect(rig.machine.statistics.drops == expected)
        rig.run([.encoding(true), .finish(1)])
        #expect(rig.finished == [1] && rig.machine.causeOfLoss(upTo: 4) == loss)
    }

    /// Shows P307, P308.
    @Test func `a frame in progress is completed under a lower limit, and not kept`() {
        var rig = UploaderRig(.init(pacing: .every(2)))
        rig.run([.connect, .sending(false), .offer(1), .offer(2), Self.limit(50)])
        #expect(rig.machine.heldBytes == 100 && rig.machine.statistics.drops == [.overMemoryBudget: 1])
        rig.run([.offer(3), .offer(4, bytes: 10), .sending(true), .refresh])
        #expect(rig.submitted == [1] && rig.machine.heldBytes == 0)
        rig.run([Self.limit(nil), .offer(5)])
        #expect(rig.submitted == [1, 5] && rig.machine.heldBytes == 100)
    }

    @Test func `a preference that does not fit into memory does not apply`() throws {
        let image = try testImage(640, 400, as: .bgra)
        let own = SampleUploader.Configuration(quality: 10)
        let need = FrameEncoder().memoryNeed(.pixels(image), .up, own)
        var rig = UploaderRig(.init(quality: 10, maximumMemory: need.total))
        for (preferences, quality) in [
            (ControlRequest.Preferences(quality: 100), 10), (ControlRequest.Preferences(quality: 5), 5),
            (ControlRequest.Preferences(size: BufferSize(width: 64, height: 64), quality: 100), 100),
        ] {
            rig.run(.prefer(preferences))
            var frame = UploadFrame(.pixels(image), offeredAt: rig.now)
            rig.machine.makeRecipe(for: &frame)
            #expect(frame.recipe?.settings.quality == quality)
            // The receiver hears of it once, however many frames follow.
            let isRefused = quality == own.quality
            #expect(rig.machine.takeEffects().refusesPreferencesOf == (isRefused ? rig.machine.terms.connection : nil))
            frame.recipe = nil
            rig.machine.lastRecipe = nil
            rig.machine.makeRecipe(for: &frame)
            #expect(rig.machine.takeEffects().refusesPreferencesOf == nil)
        }
    }

    /// Shows P294.
    @Test func `a preference applies as soon as there is memory for it`() throws {
        let image = try testImage(640, 400, as: .bgra)
        let need = FrameEncoder().memoryNeed(.pixels(image), .up, .init(quality: 10))
        var rig = UploaderRig(.init(quality: 10, maximumMemory: need.total))
        rig.run(.prefer(.init(quality: 100)))
        var frame = UploadFrame(.pixels(image), offeredAt: rig.now)
        rig.machine.makeRecipe(for: &frame)
        #expect(frame.recipe?.settings.quality == 10)
        rig.run(.update(.init(quality: 10)))
        rig.machine.makeRecipe(for: &frame)
        #expect(frame.recipe?.settings.quality == 100)
    }

    @Test func `a JPEG whose size was stated wrongly is not sent if receivers refuse its own`() throws {
        let jpeg: [UInt8] = try JPEGEncoder().encode(try testImage(640, 480, as: .bgra))
        var configuration = SampleUploader.Configuration(appliesOrientation: true)
        configuration.limits.maximumDimension = 100
        var rig = UploaderRig(configuration)
        rig.run(.connect)
        let frame = UploadFrame(
            .jpeg(FrameBytes(jpeg), BufferSize(width: 8, height: 8)),
            orientation: .right,
            offeredAt: rig.now
        )
        guard case .decided(.taken) = rig.machine.offer(frame, at: rig.now) else {
            throw TransportError(.busy, "dropped")
        }
        let begun = rig.machine.beginUpload(at: rig.now)
        var job = try #require(begun)
        rig.machine.encoded(job.encode(with: FrameEncoder(), FrameDigester(), SharedBufferStore()), at: rig.now)
        #expect(rig.machine.takeEffects().message == nil)
        #expect(rig.machine.statistics.drops == [.outsideLimits: 1])
    }

    @Test func `a photo of more pixels than receivers accept is scaled to fewer`() throws {
        let photo = try PixelBuffer(width: 6000, height: 6000, format: .gray, zeroFilled: true)
        let jpeg: [UInt8] = try JPEGEncoder(subsampling: .gray).encode(photo)
        let content = FrameContent.resizableJPEG(FrameBytes(jpeg), BufferSize(width: 6000, height: 6000))
        let plan = EncodingRecipe(content, .up, .init(.init(scale: .fraction(numerator: 1, denominator: 4))))
        #expect(try FrameEncoder().encode(content, .up, plan).bufferSize == BufferSize(width: 1500, height: 1500))
    }

    @Test(
        arguments: [(-5, 1), (0, 1), (101, 100), (.max, 100)]
    )
    func `a preference that no encoder can fulfill becomes the nearest one`(preferred: Int, quality: Int) {
        let configuration = SampleUploader.Configuration().preferring(ControlRequest.Preferences(quality: preferred))
        #expect(configuration.quality == quality)
    }

    @Test func `another size applies to pixels, and a JPEG is repeated unchanged`() throws {
        let image = try testImage(64, 48, as: .bgra)
        var rig = UploaderRig()
        func offer(_ rig: inout UploaderRig) -> EncodingJob? {
            _ = rig.machine.offer(UploadFrame(.pixels(image), offeredAt: rig.now), at: rig.now)
            return rig.machine.beginUpload(at: rig.now)
        }
        rig.run(.connect)
        let first = try #require(offer(&rig))
        #expect(first.recipe?.output.canvas == BufferSize(width: 64, height: 48))
        rig.machine.encoded(
            .encoded(try FrameEncoder().encode(.pixels(image), .up, first.recipe), digest: nil),
            at: rig.now
        )
        rig.machine.sent(nil, at: rig.now)
        rig.run([.pause, .prefer(.init(size: BufferSize(width: 32, height: 24))), .resume])
        #expect(rig.messages.last?.bufferSize == BufferSize(width: 64, height: 48))
        rig.run(.pause)
        #expect(offer(&rig) == nil)
        rig.run([.encoding(false), .resume])
        #expect(rig.machine.beginUpload(at: rig.now)?.recipe?.output.canvas == BufferSize(width: 32, height: 24))
    }

    @Test func `sizes far beyond what can be encoded do not overflow`() throws {
        let image = try testImage(64, 48, as: .bgra)
        let scale = SampleUploader.OutputScale.letterbox(width: .max, height: .max)
        let need = FrameEncoder().memoryNeed(.pixels(image), .up, .init(scale: scale))
        #expect(need.total > 0)
    }

    /// Shows P54.
    @Test(arguments: [
        (ControlRequest.Preferences(frameRateInMillihertz: 5_000), false),
        (ControlRequest.Preferences(quality: 100), true),
        (ControlRequest.Preferences(frameRateInMillihertz: 5_000, size: BufferSize(width: 600, height: 600)), true),
    ])
    func `what takes no memory is not refused for lack of it`(preferences: ControlRequest.Preferences, isRefused: Bool)
        throws
    {
        var machine = UploaderMachine(.init(maximumMemory: 100_000), owner: 1)
        var terms = ReceiverTerms()
        (terms.connection, terms.revision, terms.isConnected, terms.preferences) = (1, 1, true, preferences)
        machine.termsChanged(terms, at: 1)
        let frame = UploadFrame(.pixels(try testImage(640, 480)), offeredAt: 2)
        guard case .decided(.dropped(.overMemoryBudget)) = machine.offer(frame, at: 2) else {
            throw TransportError(.busy, "there is memory for the image")
        }
        #expect((machine.takeEffects().refusesPreferencesOf != nil) == isRefused)
    }

    @Test(arguments: [("chelsea-progressive", true), ("chelsea-420", false)])
    func `the coefficients of a JPEG count as memory if the library keeps them`(name: String, isKept: Bool) throws {
        let bytes = try Fixtures.bytes("jpeg/\(name).jpg")
        let jpeg = FrameBytes(bytes)
        let size = BufferSize(width: 451, height: 300)
        // Whole MCUs of 16x16 pixels, with one and a half samples of two bytes for each.
        let coefficients = 464 * 304 * 3
        let limit = 1 << 30
        let small = SampleUploader.Configuration(scale: .fit(width: 32, height: 32), maximumMemory: limit)
        let resized = FrameEncoder().memoryNeed(.resizableJPEG(jpeg, size), .up, small).total
        #expect((resized >= jpeg.count + coefficients) == isKept)
        let turning = SampleUploader.Configuration(appliesOrientation: true, maximumMemory: limit)
        let turned = FrameEncoder().memoryNeed(.jpeg(jpeg, size), .down, turning).total
        #expect(turned >= 2 * (jpeg.count + coefficients))
    }

    @Test func `a lossless rotation takes the coefficients and the JPEG twice, and is dropped below that`() throws {
        let image = try OutputScalingTests.noise(.rgb, width: 320, height: 240)
        let bytes: [UInt8] = try JPEGEncoder(quality: 100, subsampling: .yuv444).encode(image)
        let jpeg = FrameBytes(bytes)
        let size = BufferSize(width: 320, height: 240)
        // Three samples of two bytes for each pixel. Decoding, which takes less here, is not what decides.
        let expected = 2 * (bytes.count + 320 * 240 * 6)
        for (limit, isAccepted) in [(expected, true), (expected - 1, false)] {
            let configuration = SampleUploader.Configuration(
                quality: 1,
                subsampling: .gray,
                appliesOrientation: true,
                usesStrips: false,
                maximumMemory: limit
            )
            #expect(FrameEncoder().memoryNeed(.jpeg(jpeg, size), .down, configuration).total == expected)
            var machine = UploaderMachine(configuration, owner: 1)
            var terms = ReceiverTerms()
            (terms.connection, terms.revision, terms.isConnected) = (1, 1, true)
            machine.termsChanged(terms, at: 1)
            let frame = UploadFrame(.jpeg(jpeg, size), orientation: .down, offeredAt: 2)
            guard case .decided(let outcome) = machine.offer(frame, at: 2) else { return #expect(Bool(false)) }
            #expect(outcome == (isAccepted ? .taken : .dropped(.overMemoryBudget)))
        }
    }

    private func need(_ format: PixelFormat, _ width: Int, _ height: Int) throws -> Int {
        let image = try PixelBuffer(width: width, height: height, format: format)
        let configuration = SampleUploader.Configuration(subsampling: .yuv444, usesStrips: false)
        return FrameEncoder().memoryNeed(.pixels(image), .up, configuration).total
    }

    @Test(arguments: [(PixelFormat.bgra, 1), (.rgb, 1), (.nv12, 4), (.i420, 0), (.gray, 0)])
    func `the memory of pixels that are interpolated counts`(format: PixelFormat, divisor: Int) throws {
        let image = try PixelBuffer(width: 640, height: 480, format: format)
        func need(_ numerator: Int, _ denominator: Int) -> Int {
            let scale = SampleUploader.OutputScale.fraction(numerator: numerator, denominator: denominator)
            let configuration = SampleUploader.Configuration(scale: scale, subsampling: .yuv444, usesStrips: false)
            let canvas = BufferSize(width: 640 * numerator / denominator, height: 480 * numerator / denominator)
            let planes = EncodingMemory.bytes(ofPlanesFor: canvas, format)
            let jpeg = EncodingMemory.bytes(ofJPEG: canvas, quality: 80, subsampling: .yuv444)
            let images = EncodingMemory.bytes(of: image) + EncodingMemory.bytes(of: canvas, format)
            return FrameEncoder().memoryNeed(.pixels(image), .up, configuration).total - images - planes - jpeg
        }
        #expect(need(3, 4) == (divisor > 0 ? (640 * 480 + 480 * 360) / divisor : 0))
        #expect(need(1, 2) == 0 && need(1, 4) == 0)
    }

    @Test(
        arguments: [(PixelFormat.bgra, 1), (.rgb, 1), (.nv12, 4), (.i420, 0), (.gray, 0)],
        [PixelBuffer.Color.jpeg, PixelBuffer.Color(range: .limited, matrix: .bt709)]
    )
    func `the memory of pixels that are interpolated or converted while they are copied counts`(
        _ pixels: (format: PixelFormat, divisor: Int),
        color: PixelBuffer.Color
    ) throws {
        let (format, divisor) = pixels
        let image = try PixelBuffer(width: 640, height: 480, format: format)
        // A JPEG of this quality takes less than what is needed to make the copy.
        func byteCount(_ scale: SampleUploader.OutputScale) -> Int {
            EncodingRecipe(
                copying: image,
                .up,
                .init(.init(quality: 1, scale: scale, subsampling: .yuv444, usesStrips: false)),
                color: color,
                limit: .max
            ).need.total
        }
        let canvas = EncodingMemory.bytes(of: BufferSize(width: 480, height: 360), format)
        let channel = divisor > 0 ? (640 * 480 + 480 * 360) / divisor : 0
        let copying = canvas + max(channel, format.isPlanar && color != .jpeg ? canvas : 0)
        let interpolated = byteCount(.fraction(numerator: 3, denominator: 4))
        #expect(format.isPlanar || format == .gray ? interpolated >= copying : interpolated == copying)
        if format.isPlanar, color != .jpeg { #expect(interpolated == copying) }
        // An image that keeps its size is converted where it is.
        let configuration = SampleUploader.Configuration(quality: 1, subsampling: .yuv444, usesStrips: false)
        let need = FrameEncoder().memoryNeed(.pixels(image), .up, configuration).total
        #expect(byteCount(.full) <= need + EncodingMemory.bytes(of: image) / 4)
    }

    @Test func `planes that the encoder rearranges count as memory`() throws {
        let plain = try need(.i420, 640, 480)
        let (pairs, odd) = (try need(.nv12, 640, 480), try need(.i420, 641, 481))
        #expect(pairs - plain >= 640 * 480 / 2)
        #expect(odd - plain >= 641 * 481)
    }
}
