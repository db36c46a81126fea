import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// What an uploader shares and counts if its receiver accepts shared memory.
@Suite(.tags(.computes)) struct UploaderSharingTests {
    private func rig(_ pacing: SampleUploader.Pacing = .everyFrame) -> ImageRig {
        ImageRig(.init(pacing: pacing, usesStrips: false, sharesMemory: true), ImageRig.sharing)
    }

    private func content(_ height: Int = 48) throws -> FrameContent {
        .pixels(try testImage(64, height, as: .gray))
    }

    @Test(arguments: [true, false])
    func `a frame counts as what it was when it was sent, although the receiver is gone`(isShared: Bool) throws {
        var rig = ImageRig(.init(usesStrips: false, sharesMemory: isShared), ImageRig.sharing)
        rig.offer(try content(), settles: false)
        rig.end(try rig.begin(), settles: false)
        rig.change { $0.isConnected = false }
        let statistics = rig.machine.statistics
        #expect(statistics.sent == 1 && statistics.shared == (isShared ? 1 : 0))
        #expect((statistics.bytes == 0) == isShared)
    }

    /// Shows P303.
    @Test func `an image in a buffer that limits exclude in the preferred size is sent in it when they are lifted`()
        throws
    {
        var own = SampleUploader.Configuration(usesStrips: false, sharesMemory: true)
        var rig = ImageRig(own, ImageRig.sharing)
        rig.change { $0.preferences = .init(size: BufferSize(width: 16, height: 16)) }
        #expect(try rig.send(try content())?.place != nil)
        own.limits.maximumDimension = 32
        rig.update(own)
        rig.change { $0.preferences = .init(size: BufferSize(width: 48, height: 48)) }
        #expect(rig.jobs.count == 1)
        own.limits = .init()
        rig.update(own)
        #expect(rig.jobs.count == 2 && rig.jobs[1].place != nil)
        #expect(rig.jobs[1].recipe?.output.canvas == BufferSize(width: 48, height: 36))
    }

    /// Shows P79.
    @Test func `a new size applies to the latest image at once, and an equal one is no news then`() throws {
        var rig = rig(.everyFrame.skippingUnchanged(keepAlive: nil))
        #expect(try rig.send(try content())?.place != nil)
        // The receiver keeps the first buffer, so that the repeat is copied to another.
        rig.change { $0.preferences = .init(size: BufferSize(width: 32, height: 24)) }
        let again = try #require(rig.jobs.last)
        #expect(again.place != nil && again.place?.index != 0 && again.recipe?.output.canvas.width == 32)
        rig.offer(try content())
        #expect(rig.jobs.count == 3 && rig.machine.statistics.drops == [.unchanged: 1])
    }

    @Test func `a wait for a buffer that is over stays over until the turn that it has led to`() throws {
        var rig = rig()
        for _ in 0..<Sharing.count { #expect(try rig.send(try content())?.place != nil) }
        // The receiver keeps all buffers for two seconds.
        rig.offer(try content())
        rig.now += 2_000_000_000
        rig.machine.deadlinePassed(at: rig.now)
        // Whatever happens before the turn.
        rig.change { $0.refreshes += 1 }
        #expect(rig.jobs.count == 4 && rig.jobs[3].place == nil)
    }

    /// Shows P61.
    @Test(arguments: [false, true])
    func `frames wait for a hello only where memory can be shared`(mayShareMemory: Bool) {
        var rig = ImageRig(.init(sharesMemory: true)) { $0.mayShareMemory = mayShareMemory }
        rig.offer(.jpeg(FrameBytes([1]), BufferSize(width: 8, height: 8)))
        #expect(rig.messages.isEmpty == mayShareMemory)
    }

    @Test func `a receiver that declines gets the latest frame, even if the pacing holds it back`() throws {
        var rig = rig(.framesPerSecond(1))
        #expect(try rig.send(try content())?.place != nil)
        rig.now += 1_000_000_000
        rig.offer(try content(), settles: false)
        let second = try rig.begin()
        #expect(rig.offer(try content(), settles: false) == .deferred(.paced))
        rig.change(settles: false) { $0.acceptsSharedMemory = false }
        rig.end(second) { _ in .notShared }
        #expect(rig.messages.count == 2 && rig.machine.statistics.sent == 2)
        #expect(rig.machine.statistics.drops == [.superseded: 1])
    }

    /// Shows P283.
    @Test func `a lack of memory to share with one receiver says nothing about the next`() throws {
        var rig = rig()
        rig.offer(try content(), settles: false)
        let first = try rig.begin()
        rig.change(settles: false) { $0.connection += 1 }
        rig.end(first) { _ in .notShared }
        #expect(rig.machine.sharing.isOpen && rig.jobs.count == 2 && rig.jobs[1].place != nil)
    }

    /// Shows P341.
    @Test func `an image that a receiver has in shared memory is not sent again at a higher quality`() throws {
        var configuration = SampleUploader.Configuration(usesStrips: false, sharesMemory: true)
        configuration.adaptation = .init(maximumByteRate: 2_000, preference: .motion)
        var rig = ImageRig(configuration, ImageRig.sharing)
        func isDue() -> Bool { rig.machine.next(at: rig.now) != nil }
        rig.change { $0.acceptsSharedMemory = false }
        #expect(try rig.send(try content())?.quality == 80)
        rig.now += 60_000_000_000
        #expect(try #require(try rig.send(try content(46))?.quality) < 80)
        #expect(isDue(), "it is to be sharp")
        rig.change { terms in
            terms.acceptsSharedMemory = true
            terms.refreshes += 1
        }
        #expect(rig.jobs.last?.place != nil)
        #expect(rig.machine.statistics.quality == nil, "the latest image is no JPEG")
        // Nor if sharing ends: what the receiver has is the image itself.
        configuration.sharesMemory = false
        rig.update(configuration)
        #expect(!isDue())
    }

    /// Shows P283.
    @Test func `an image that is too large for a shared buffer is encoded`() throws {
        // Of the memory only as much exists as is written.
        let image = try PixelBuffer(width: 32_769, height: 32_768, format: .gray)
        #expect(EncodingRecipe(.pixels(image), .up, .init(.init()))?.sharedByteCount == nil)
        #expect(EncodingRecipe(.pixels(image), .up, .init(.init(scale: .half)))?.sharedByteCount != nil)
    }

    /// Shows P287.
    @Test func `after a frame has waited in vain, none waits until a buffer is released`() throws {
        var rig = rig()
        for _ in 0..<Sharing.count { #expect(try rig.send(try content())?.place != nil) }
        // The last buffer was taken 10 ms before.
        rig.offer(try content())
        rig.pass(milliseconds: 1_989)
        #expect(rig.jobs.count == 3, "the next one waits")
        rig.pass(milliseconds: 1)
        #expect(rig.jobs.count == 4 && rig.jobs[3].place == nil && rig.machine.statistics.sent == 4)
        #expect(try rig.send(try content())?.place == nil)
        rig.change { $0.releases[1] += 1 }
        #expect(try rig.send(try content())?.place?.index == 1)
        rig.offer(try content())
        #expect(rig.jobs.count == 6, "the next one waits again")
        #expect(rig.machine.statistics.shared == 4)
    }
}
