import Dispatch
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// The latest image is kept beside its JPEG: whoever needs it again gets it in the terms of the receiver that is there.
@Suite(.timeLimit(.minutes(5))) struct LatestImageTests {
    /// Shows P303.
    @Test(arguments: [Submission.lent, .copied, .resized])
    func `a new receiver gets the latest image in its own terms, not in those of one that left`(
        submission: Submission
    ) throws {
        var rig = ImageRig(.init()) {
            $0.preferences = .init(size: BufferSize(width: 16, height: 16), quality: 1)
        }
        let content = try submission.content(of: try testImage(128, 96))
        try rig.send(content)
        rig.change { ($0.connection, $0.preferences) = (2, .init()) }
        // Encoded once for this receiver: a refresh sends the same JPEG.
        rig.change { $0.refreshes += 1 }
        let sizes = [(16, 12), (128, 96), (128, 96)].map { BufferSize(width: $0.0, height: $0.1) }
        try #require(rig.messages.map(\.bufferSize) == sizes)
        let whole = try FrameEncoder().encode(content, .up, SampleUploader.Configuration()).jpeg
        #expect(rig.messages[1].jpeg.array() == whole.array() && rig.messages[2].jpeg === rig.messages[1].jpeg)
        let first = rig.messages[0].info
        #expect(rig.messages.allSatisfy { $0.info.timestamp == first.timestamp && $0.info.sequence == 0 })
        let statistics = rig.machine.statistics
        #expect(statistics.encoding.count == 2 && statistics.sent == 1 && statistics.repeats == 2)
    }

    /// Shows P304.
    @Test(arguments: [Submission.lent, .copied, .resized])
    func `a preference that arrives while the source is still applies to the latest image at once`(
        submission: Submission
    ) throws {
        var rig = ImageRig(.init())
        try rig.send(try submission.content(of: try testImage(128, 96)))
        rig.change { $0.preferences = .init(quality: 5) }
        // A JPEG that needs no other size is sent as it is.
        let isCoarse = submission != .resized
        try #require(rig.messages.map(\.bufferSize.width) == (isCoarse ? [128, 128] : [128]))
        if isCoarse { #expect(rig.messages[1].jpeg.count < rig.messages[0].jpeg.count) }
        let box = BufferSize(width: 64, height: 64)
        rig.change { $0.preferences = .init(size: box) }
        let count = rig.messages.count
        #expect(count == (isCoarse ? 3 : 2) && rig.messages.last?.bufferSize == BufferSize(width: 64, height: 48))
        // Another rate changes nothing about the image, and neither does the same preference.
        for _ in 0..<2 { rig.change { $0.preferences = .init(frameRateInMillihertz: 5_000, size: box) } }
        #expect(rig.messages.count == count && rig.messages.allSatisfy { $0.info.sequence == 0 })
    }

    /// Shows P192.
    @Test(arguments: [true, false])
    func `an image that a newer one replaces is released before that has been sent`(isShared: Bool) async throws {
        // Whoever draws in two images in turn would have them copied, if one were still held when the other has been sent.
        let directory = try TemporaryDirectory()
        var pair = try await SharedPair(directory, .init(sharesMemory: isShared))
        if isShared { try await pair.sharing() }
        let uploader = pair.uploader
        #expect(await becomesTrue { uploader.hasReceiver })
        let isSent = DispatchSemaphore(value: 0)
        let (released, late) = (Counter(), Counter())
        uploader.send(
            try imageInProgramsMemory {
                // Long enough for a frame that does not wait for this.
                if isSent.wait(timeout: .now() + 0.3) == .success { late.increment() }
                released.increment()
            }
        )
        try await uploader.finish()
        _ = try await pair.next()
        #expect(released.value == 0, "it is kept for other receivers")
        uploader.send(try testImage(64, 64))
        try await uploader.finish()
        isSent.signal()
        #expect(await becomesTrue { released.value == 1 })
        #expect(late.value == 0, "the next frame was sent first")
    }

    // MARK: Memory

    @Test func `an image that is given up is held no longer, and its JPEG is, until there is another`() throws {
        let image = FrameContent.pixels(try testImage(64, 48, as: .bgra))
        var rig = ImageRig(.init(pacing: .everyFrame.skippingUnchanged(keepAlive: nil)))
        try rig.send(image)
        rig.machine.giveUpImages()
        #expect(rig.machine.heldImageCount == 0)
        rig.change { $0.refreshes += 1 }
        #expect(rig.messages.count == 2 && rig.messages.last?.jpeg === rig.messages.first?.jpeg)
        // Also if that is unchanged.
        rig.offer(image)
        #expect(rig.machine.statistics.drops == [.unchanged: 1] && rig.machine.heldImageCount == 1)
    }

    @Test func `an image that was sent in shared memory is not given up before there is a newer one`() throws {
        var rig = ImageRig(.init(sharesMemory: true), ImageRig.sharing)
        #expect(try rig.send(.pixels(try testImage(64, 48, as: .bgra)))?.place != nil)
        rig.machine.giveUpImages()
        #expect(rig.machine.heldImageCount == 1, "there is no JPEG in its place")
        rig.change { $0.refreshes += 1 }
        #expect(rig.jobs.count == 2 && rig.jobs.last?.place != nil)
        #expect(rig.messages.map(\.info.sequence) == [0, 0])
    }

    /// Shows P192.
    @Test func `a newer frame takes the place of the image, whatever becomes of it`() throws {
        var rig = ImageRig(.init(pacing: .framesPerSecond(1)))
        try rig.send(.pixels(try testImage(64, 48, as: .bgra)))
        #expect(rig.machine.heldImageCount == 1 && rig.machine.encoded.message != nil)
        rig.offer(.pixels(try testImage(32, 24, as: .bgra)))
        #expect(rig.machine.newest.state == .deferred(.paced) && rig.machine.heldImageCount == 1)
    }

    /// Shows P192.
    @Test func `without the latest image, only its JPEG is kept, and a receiver gets that`() throws {
        var configuration = SampleUploader.Configuration(pacing: .everyFrame.skippingUnchanged(keepAlive: nil))
        configuration.keepsLatestImage = false
        var rig = ImageRig(configuration)
        let image = try testImage(64, 48, as: .bgra)
        try rig.send(.pixels(image))
        #expect(rig.machine.heldImageCount == 0 && rig.machine.encoded.message != nil)
        rig.offer(.pixels(image))
        #expect(rig.machine.statistics.drops == [.unchanged: 1] && rig.machine.heldImageCount == 0)
        rig.change { $0.preferences = .init(size: BufferSize(width: 16, height: 16)) }
        #expect(rig.messages.count == 1)
        rig.change { $0.connection += 1 }
        #expect(rig.messages.map(\.bufferSize.width) == [64, 64])
        // What is sent next is as it is wanted.
        rig.offer(.pixels(try testImage(60, 48, as: .bgra)))
        #expect(rig.messages.last?.bufferSize.width == 16)
    }

    @Test func `the latest image is released when it is no longer to be kept`() throws {
        var rig = ImageRig(.init())
        try rig.send(.pixels(try testImage(64, 48, as: .bgra)))
        #expect(rig.machine.heldImageCount == 1)
        rig.machine.update(.init(keepsLatestImage: false), at: rig.now)
        #expect(rig.machine.heldImageCount == 0)
    }

    /// Shows P303.
    @Test
    func `an image that equals one in shared memory is there for the next receiver, also when its JPEG was not needed`()
        throws
    {
        var configuration = SampleUploader.Configuration(pacing: .everyFrame.skippingUnchanged(keepAlive: nil))
        (configuration.sharesMemory, configuration.keepsLatestImage) = (true, false)
        var rig = ImageRig(configuration, ImageRig.sharing)
        for width in [32, 48, 64] { try rig.send(.pixels(try testImage(width, 48, as: .bgra))) }
        // Every buffer is with the receiver: after two seconds, the image is encoded.
        rig.offer(.pixels(try testImage(64, 48, as: .bgra)))
        rig.pass(milliseconds: 2_100)
        #expect(rig.messages.count == 3 && rig.machine.statistics.drops == [.unchanged: 1])
        rig.change { ($0.connection, $0.mayShareMemory, $0.acceptsSharedMemory) = (2, false, false) }
        #expect(rig.messages.count == 4)
    }

    /// Shows P303.
    @Test func `an image that cannot be encoded for the next receiver is sent as it was, once`() throws {
        var rig = ImageRig(.init())
        rig.change { $0.preferences = .init(quality: 1) }
        try rig.send(.pixels(try testImage(64, 48, as: .bgra)))
        let jpeg = try #require(rig.messages.last).jpeg
        rig.encodingFails = true
        rig.change { terms in
            terms.connection += 1
            terms.preferences = .init()
        }
        #expect(rig.messages.count == 2 && rig.messages.last?.jpeg === jpeg)
        rig.change { $0.preferences = .init(quality: 50) }
        #expect(rig.messages.count == 2, "there is no image for another quality")
    }

    @Test func `an equal image is sent to a receiver that got the latest one as it was`() throws {
        var rig = ImageRig(.init(pacing: .everyFrame.skippingUnchanged(keepAlive: nil)))
        let image = try testImage(64, 48, as: .bgra)
        rig.change { $0.preferences = .init(size: BufferSize(width: 16, height: 16)) }
        try rig.send(.pixels(image))
        rig.encodingFails = true
        rig.change { terms in
            terms.connection += 1
            terms.preferences = .init()
        }
        #expect(rig.messages.map(\.bufferSize.width) == [16, 16])
        rig.encodingFails = false
        rig.offer(.pixels(image))
        #expect(rig.messages.map(\.bufferSize.width) == [16, 16, 64])
        rig.offer(.pixels(image))
        #expect(rig.machine.statistics.drops == [.unchanged: 1])
    }

    /// Shows P304.
    @Test func `an image that could not be copied after all is prepared again, and not sent as it was`() throws {
        var rig = ImageRig(.init(sharesMemory: true))
        try rig.send(.pixels(try testImage(64, 48, as: .bgra)))
        rig.change(settles: false) { terms in
            (terms.isGreeted, terms.mayShareMemory, terms.acceptsSharedMemory) = (true, true, true)
            terms.preferences = .init(size: BufferSize(width: 16, height: 16))
        }
        let job = try rig.begin()
        try #require(job.place != nil)
        rig.change(settles: false) { $0.acceptsSharedMemory = false }
        rig.end(job) { _ in .notShared }
        #expect(rig.messages.map(\.bufferSize.width) == [64, 16])
    }

    /// Shows P304.
    @Test func `a preference for what the program has set since the image was sent applies to it`() throws {
        var rig = ImageRig(.init())
        try rig.send(.pixels(try testImage(64, 48, as: .bgra)))
        let box = BufferSize(width: 16, height: 16)
        rig.update(.init(scale: .fit(width: 16, height: 16)))
        rig.change { $0.preferences = .init(size: box) }
        #expect(rig.messages.map(\.bufferSize.width) == [64, 16])
        rig.change { $0.preferences = .init(frameRateInMillihertz: 5_000, size: box) }
        #expect(rig.messages.count == 2)
    }

    @Test func `a size that is set while a new receiver may still greet applies from the next frame on`() throws {
        var rig = ImageRig(.init(sharesMemory: true)) { $0.isGreeted = true }
        try rig.send(.pixels(try testImage(64, 48, as: .bgra)))
        rig.change { ($0.connection, $0.isGreeted, $0.mayShareMemory) = (2, false, true) }
        rig.update(.init(scale: .fit(width: 16, height: 16), sharesMemory: true))
        #expect(rig.messages.count == 1)
        rig.pass(milliseconds: 600)
        #expect(rig.messages.map(\.bufferSize.width) == [64, 64], "what it gets was decided when it connected")
        try rig.send(.pixels(try testImage(64, 48, as: .bgra)))
        #expect(rig.messages.last?.bufferSize.width == 16)
    }

    /// Shows P277.
    @Test func `a copy that outlasts its connection is made again for the next one`() throws {
        var rig = ImageRig(.init(sharesMemory: true), ImageRig.sharing)
        rig.offer(.pixels(try testImage(64, 48, as: .bgra)), settles: false)
        let job = try rig.begin()
        try #require(job.place != nil)
        rig.change(settles: false) { $0.connection = 2 }
        rig.end(job)
        #expect(rig.messages.count == 1 && rig.jobs.count == 2)
        #expect(rig.jobs.last?.place.map { $0.generation > job.place?.generation ?? .max } == true)
    }

    /// Shows P304.
    @Test func `a preference during an encoding applies to the image once that is sent`() throws {
        var rig = ImageRig(.init())
        rig.offer(.pixels(try testImage(64, 48, as: .bgra)), settles: false)
        let job = try rig.begin()
        rig.change(settles: false) { $0.preferences = .init(size: BufferSize(width: 16, height: 16)) }
        rig.end(job)
        #expect(rig.messages.map(\.bufferSize.width) == [64, 16])
        #expect(rig.machine.statistics.sent == 1 && rig.machine.statistics.repeats == 1)
    }

    /// Shows P303.
    @Test(arguments: [false, true])
    func `an image that was being encoded for another receiver is encoded for the one that has come`(isRepeat: Bool)
        throws
    {
        var rig = ImageRig(.init())
        let image = try testImage(64, 48, as: .bgra)
        if isRepeat { try rig.send(.pixels(image)) }
        let sent = rig.messages.count
        rig.change(settles: false) { $0.preferences = .init(size: BufferSize(width: 16, height: 16)) }
        if !isRepeat { rig.offer(.pixels(image), settles: false) }
        let job = try rig.begin()
        rig.change(settles: false) { terms in
            terms.connection += 1
            terms.preferences = .init()
        }
        rig.end(job)
        #expect(rig.messages.dropFirst(sent).map(\.bufferSize.width) == [64])
        #expect(rig.machine.statistics.sent == 1 && rig.machine.statistics.repeats == (isRepeat ? 1 : 0))
        #expect(rig.messages.allSatisfy { $0.info.sequence == rig.messages[0].info.sequence })
    }

    /// Shows P303.
    @Test(arguments: [false, true])
    func `an image that another receiver's maximum of bytes made coarse is encoded again for the next`(
        isAloneMeanwhile: Bool
    ) throws {
        var rig = ImageRig(.init())
        rig.change { $0.preferences = .init(byteRate: 1_000) }
        try rig.send(.pixels(try testImage(64, 48, as: .bgra)))
        rig.now += 5_000_000_000
        rig.offer(.pixels(try testImage(60, 48, as: .bgra)), settles: false)
        let job = try rig.begin()
        #expect(try #require(job.quality) < 80)
        if isAloneMeanwhile { rig.change(settles: false) { $0.isConnected = false } }
        if !isAloneMeanwhile { rig.change(settles: false) { ($0.connection, $0.preferences) = (2, .init()) } }
        rig.end(job)
        if isAloneMeanwhile { rig.change { ($0.connection, $0.isConnected, $0.preferences) = (2, true, .init()) } }
        #expect(rig.messages.map(\.bufferSize.width) == [64, 60])
    }
}

extension UploaderMachine {
    /// The number of images that are held.
    fileprivate var heldImageCount: Int { (content?.pixels == nil ? 0 : 1) + (work.stage == .encoding ? 1 : 0) }
}

/// An image of 64x64 pixels in memory of its own, and what is called once nothing refers to it.
private func imageInProgramsMemory(_ released: @escaping @Sendable () -> Void) throws -> PixelBuffer {
    nonisolated(unsafe) let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 64 * 64)
    unsafe memory.initialize(repeating: 1, count: 64 * 64)
    return try unsafe PixelBuffer(adopting: [(UnsafePointer(memory), 64)], width: 64, height: 64, format: .gray) {
        unsafe memory.deallocate()
        released()
    }
}
