import FrameTransport
import FrameWire
import Locking
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// What an uploader shares, holds and counts if its receiver accepts shared memory.
@Suite(.tags(.computes)) struct UploaderSharingTests {
    @Test func `an image in a shared buffer and one in memory of its own have recipes of their own`() throws {
        let image = try PixelBuffer(width: 500, height: 400, format: .bgra, zeroFilled: true)
        var uploader = SharingUploader(
            .init(usesStrips: false, sharing: .allowed(buffers: 2), maximumMemory: 10_000_000)
        )
        #expect(try uploader.send(.pixels(image)).job.lease != nil)
        uploader.release(0)
        // What is repeated is in a shared buffer, whose memory is counted with the buffers.
        uploader.repeatLatest()
        uploader.change { $0.acceptsSharedMemory = false }
        let (job, heldBytes) = try uploader.send(.scaled(image))
        #expect(job.lease == nil && heldBytes > EncodingMemory.bytes(of: image))

        let lease = SharedPool.Lease(index: 0, number: 1, owner: 1, byteCount: 1)
        let claim = SharedClaim(lease, try SharedMemory(byteCount: 1)) { _ in }
        let contents: [FrameContent] = [
            .shared(BufferedImage(pixels: image, claim: claim, origin: .copied)), .scaled(image),
        ]
        for (own, other) in [(0, 1), (1, 0)] {
            let recipe = try #require(EncodingRecipe(contents[own], .up, .init(.init())))
            #expect(recipe.applies(to: contents[own], .up) && !recipe.applies(to: contents[other], .up))
        }
    }

    @Test func `an image in a shared buffer counts as memory of its own if it cannot be copied to another`() throws {
        let image = try PixelBuffer(width: 500, height: 400, format: .bgra, zeroFilled: true)
        var uploader = SharingUploader(.init(usesStrips: false, sharing: .allowed(buffers: 2)))
        #expect(try uploader.send(.pixels(image)).job.lease != nil)
        // The receiver still has the buffer, so that a repeat needs another one, for which the system has no memory.
        uploader.change { $0.refreshes += 1 }
        let begun = uploader.machine.beginUpload(at: 2_000_000_000)
        var job = try #require(begun)
        #expect(job.lease != nil)
        let taken = job.content.take()
        uploader.machine.encoded(.notShared(try #require(taken)), at: 2_000_000_000)
        #expect(!uploader.machine.sharing.pool.isOpen && uploader.machine.heldBytes >= EncodingMemory.bytes(of: image))
    }

    @Test(arguments: [true, false])
    func `a frame counts as what it was when it was sent, although the receiver is gone`(isShared: Bool) throws {
        var uploader = SharingUploader(.init(usesStrips: false, sharing: isShared ? .allowed() : .off))
        try uploader.submit(.pixels(try testImage(64, 48, as: .gray)))
        uploader.change { $0.isConnected = false }
        uploader.sent()
        let statistics = uploader.machine.statistics
        #expect(statistics.sent == 1 && statistics.shared == (isShared ? 1 : 0))
        #expect((statistics.bytes == 0) == isShared)
    }

    /// Shows P303.
    @Test func `an image in a buffer that limits exclude in the preferred size is sent in it when they are lifted`()
        throws
    {
        var own = SampleUploader.Configuration(usesStrips: false, sharing: .allowed())
        var uploader = SharingUploader(own)
        uploader.change { $0.preferences = .init(size: BufferSize(width: 16, height: 16)) }
        #expect(try uploader.send(.pixels(try testImage(64, 48))).job.lease != nil)
        own.limits.maximumDimension = 32
        uploader.machine.update(own, at: 1_000_000_000)
        uploader.change { $0.preferences = .init(size: BufferSize(width: 48, height: 48)) }
        #expect(try uploader.encodeNext() == nil)
        own.limits = .init()
        uploader.machine.update(own, at: 1_000_000_000)
        let job = try uploader.encodeNext()?.job
        #expect(job?.recipe?.output.canvas == BufferSize(width: 48, height: 36))
        #expect(job?.lease != nil)
    }

    /// Shows P296.
    @Test func `an unchanged image is kept for the next receiver if its equal gave up the only buffer`() throws {
        let image = try testImage(64, 48, as: .gray)
        let pacing = SampleUploader.Pacing.adaptive(still: 0.001, motion: 0.1)
        var uploader = SharingUploader(.init(pacing: pacing, usesStrips: false, sharing: .allowed(buffers: 1)))
        #expect(try uploader.send(.pixels(image)).job.lease != nil)
        uploader.release(0)
        try uploader.defer(.pixels(image))
        // Nothing is sent: the image equals the one before, whose buffer it needed to be compared.
        try uploader.flush()
        #expect(uploader.machine.statistics.sent == 1 && uploader.machine.slots.latestTicket != nil)
        uploader.change { $0.refreshes += 1 }
        #expect(try uploader.encodeNext() != nil)
        #expect(uploader.machine.statistics.repeats == 1)
    }

    /// Shows P294.
    @Test func `a preference applies as soon as there is memory for it`() throws {
        let image = try PixelBuffer(width: 1000, height: 1000, format: .bgra, zeroFilled: true)
        var uploader = SharingUploader(
            .init(usesStrips: false, sharing: .allowed(buffers: 1), maximumMemory: 9_700_000)
        )
        #expect(try uploader.send(.pixels(image)).job.recipe?.settings.quality == 80)
        uploader.release(0)
        uploader.change { $0.preferences = .init(quality: 100) }
        // The buffer takes the memory that an encoder would need for this quality.
        #expect(try uploader.send(.pixels(image)).job.recipe?.settings.quality == 80)
        uploader.release(0)
        uploader.change { $0.acceptsSharedMemory = false }
        #expect(try uploader.send(.pixels(image)).job.recipe?.settings.quality == 100)
    }

    /// Shows P294.
    @Test(arguments: [false, true])
    func `free buffers give way to a size that the receiver prefers`(isCopied: Bool) throws {
        let image = try PixelBuffer(width: 640, height: 480, format: .gray, zeroFilled: true)
        let own = SampleUploader.Configuration(
            usesStrips: false,
            sharing: .allowed(buffers: 3),
            maximumMemory: 760_000
        )
        var uploader = SharingUploader(own)
        uploader.change { $0.preferences = .init(size: BufferSize(width: 320, height: 240)) }
        for _ in 0..<3 { #expect(try uploader.send(.pixels(image)).job.lease != nil) }
        for index in 0..<3 { uploader.release(index) }
        #expect(uploader.machine.sharing.pool.byteCount > 0)
        uploader.change { $0.preferences = .init(size: BufferSize(width: 640, height: 480)) }
        if isCopied {
            guard case .copy(let recipe, _) = uploader.machine.offerCopy(of: image, orientation: .up, at: 0) else {
                throw TransportError(.busy, "not copied")
            }
            #expect(recipe.output.canvas.width == 640)
        } else {
            #expect(try uploader.send(.pixels(image)).job.recipe?.output.canvas.width == 640)
        }
        #expect(!uploader.machine.hasRefusedPreferences)
    }

    /// Shows P79.
    @Test func `a new size applies to the latest image at once, and an equal one is no news then`() throws {
        let image = try testImage(64, 48, as: .gray)
        let pacing = SampleUploader.Pacing.everyFrame.skippingUnchanged(keepAlive: nil)
        var uploader = SharingUploader(.init(pacing: pacing, usesStrips: false, sharing: .allowed(buffers: 3)))
        #expect(try uploader.send(.pixels(image)).job.lease != nil)
        // The receiver keeps the first buffer, so that the repeat is copied to another.
        uploader.change { $0.preferences = .init(size: BufferSize(width: 32, height: 24)) }
        let again = try #require(try uploader.encodeNext()).job
        #expect(again.lease != nil && again.lease?.index != 0 && again.recipe?.output.canvas.width == 32)
        #expect(throws: TransportError.self) { try uploader.send(.pixels(image)) }
    }

    /// Shows P61.
    @Test(arguments: [false, true])
    func `frames wait for a hello only where memory can be shared`(mayShareMemory: Bool) {
        var machine = UploaderMachine(.init(sharing: .allowed()), owner: 1)
        var terms = ReceiverTerms()
        (terms.connection, terms.revision, terms.isConnected) = (1, 1, true)
        terms.mayShareMemory = mayShareMemory
        machine.termsChanged(terms, at: 0)
        machine.awaitBuffer(7, at: 0)
        let frame = UploadFrame(.jpeg(FrameBytes([1]), BufferSize(width: 8, height: 8)), offeredAt: 0)
        _ = machine.offer(frame, at: 0)
        let effects = machine.takeEffects()
        #expect(effects.startsUpload == !mayShareMemory)
        #expect(machine.expectsBuffer(at: 0) == mayShareMemory)
        #expect(effects.finished == (mayShareMemory ? [] : [7]))
    }

    @Test func `a receiver that declines gets the latest frame, even if the pacing holds it back`() throws {
        let image = try testImage(64, 48, as: .gray)
        var uploader = SharingUploader(.init(pacing: .framesPerSecond(1), usesStrips: false, sharing: .allowed()))
        #expect(try uploader.send(.pixels(image)).job.lease != nil)
        let second = try uploader.begin(.pixels(image))
        try uploader.defer(.pixels(image))
        uploader.change { $0.acceptsSharedMemory = false }
        try uploader.end(second, with: { .notShared($0) })
        // The one in progress, and the deferred one.
        #expect(try uploader.encodeNext() != nil)
        #expect(try uploader.encodeNext() != nil)
        #expect(uploader.machine.statistics.sent == 3 && uploader.machine.statistics.drops.isEmpty)
    }

    /// Shows P283.
    @Test func `a lack of memory to share with one receiver says nothing about the next`() throws {
        let image = try testImage(64, 48, as: .gray)
        var uploader = SharingUploader(.init(usesStrips: false, sharing: .allowed()))
        let first = try uploader.begin(.pixels(image))
        uploader.reconnect()
        try uploader.end(first, with: { .notShared($0) })
        #expect(uploader.machine.sharing.pool.isOpen)
        let job = try #require(try uploader.encodeNext()?.job)
        #expect(job.lease != nil)
    }

    /// Shows P341.
    @Test func `an image that a receiver has in shared memory is not sent again at a higher quality`() throws {
        let image = try testImage(64, 48, as: .gray)
        var configuration = SampleUploader.Configuration(usesStrips: false, sharing: .allowed())
        configuration.adaptation = .init()
        var uploader = SharingUploader(configuration)
        uploader.change { $0.acceptsSharedMemory = false }
        #expect(try uploader.send(.pixels(image)).job.lease == nil)
        #expect(uploader.machine.statistics.quality == 80)
        uploader.machine.slots.sent?.quality = .init(used: 30, highest: 80)
        #expect(uploader.machine.sharpeningTime(at: 0) != nil)
        uploader.change { terms in
            terms.acceptsSharedMemory = true
            terms.refreshes += 1
        }
        #expect(try uploader.encodeNext()?.job.lease != nil)
        #expect(uploader.machine.statistics.quality == nil, "the latest image is no JPEG")
        // Nor if sharing ends: what the receiver has is what was drawn.
        configuration.sharing = .off
        uploader.machine.update(configuration, at: 0)
        #expect(uploader.machine.sharpeningTime(at: 0) == nil)
    }

    /// Shows P295.
    @Test func `an image that is too large for a shared buffer is encoded`() throws {
        // Of the memory only as much exists as is written.
        let image = try PixelBuffer(width: 32_769, height: 32_768, format: .gray)
        #expect(EncodingRecipe(.pixels(image), .up, .init(.init()))?.sharedByteCount == nil)
        #expect(EncodingRecipe(.pixels(image), .up, .init(.init(scale: .half)))?.sharedByteCount != nil)
        var uploader = SharingUploader(.init(sharing: .allowed()))
        let size = BufferSize(width: 32_769, height: 32_768)
        #expect(uploader.machine.lend(size, .gray, size.width * size.height) == nil)
        #expect(uploader.machine.lend(size, .gray, 1 << 30) != nil)
    }

    @Test(arguments: [Int.min, -1, 0])
    func `without any memory no frame is sent`(limit: Int) throws {
        var uploader = SharingUploader(.init(sharing: .allowed(), maximumMemory: limit))
        let image = try testImage(8, 8, as: .gray)
        #expect(throws: TransportError.self) { try uploader.send(.pixels(image)) }
        #expect(uploader.machine.lend(BufferSize(width: 8, height: 8), .gray, 64) == nil)
        #expect(uploader.machine.statistics.drops == [.overMemoryBudget: 1])
    }
}

/// An uploader's state machine that shares memory, with the jobs it asks for done.
private struct SharingUploader {
    var machine: UploaderMachine
    var terms = ReceiverTerms()
    private var now: UInt64 = 0
    private let encoder = FrameEncoder()
    private let digester = FrameDigester()
    private let store = SharedBufferStore()
    /// The leases that have ended, and were not reported.
    private let ended = Locked<[SharedPool.Lease]>([])

    init(_ configuration: SampleUploader.Configuration) {
        machine = UploaderMachine(configuration, owner: 1)
        (terms.connection, terms.isConnected) = (1, true)
        (terms.isGreeted, terms.mayShareMemory, terms.acceptsSharedMemory) = (true, true, true)
        change { _ in }
    }

    mutating func change(_ change: (inout ReceiverTerms) -> Void) {
        terms.revision += 1
        change(&terms)
        machine.termsChanged(terms, at: now)
        settle()
    }

    /// Submits a frame, and begins to encode it.
    mutating func begin(_ content: FrameContent) throws -> EncodingJob {
        now += 1_000_000_000
        _ = machine.offer(UploadFrame(content, offeredAt: now), at: now)
        let begun = machine.beginUpload(at: now)
        return try #require(begun)
    }

    /// Reports what became of a job's content.
    mutating func end(_ job: EncodingJob, with result: (FrameContent) -> EncodingResult) throws {
        var job = job
        let content = job.content.take()
        machine.encoded(result(try #require(content)), at: now)
        settle()
    }

    /// Connects to another receiver that accepts shared memory.
    mutating func reconnect() {
        change { $0.connection += 1 }
    }

    /// Submits a frame, and hands it over, but does not hear what became of it.
    mutating func submit(_ content: FrameContent) throws {
        var job = try begin(content)
        machine.encoded(job.encode(with: encoder, digester, store), at: now)
        #expect(machine.takeEffects().message != nil)
    }

    /// Hears that what was submitted has been sent.
    mutating func sent() {
        machine.sent(nil, at: now)
    }

    /// Sends what is to be sent, and reports what has ended.
    private mutating func settle() {
        if machine.takeEffects().message != nil { machine.sent(nil, at: now) }
        let leases = ended.withLock { leases in
            defer { leases = [] }
            return leases
        }
        for lease in leases { machine.leaseEnded(lease, at: now) }
        _ = machine.takeEffects()
    }

    /// Releases a buffer.
    mutating func release(_ index: Int) {
        change { $0.releases[index] += 1 }
    }

    /// Sends the frame in a shared buffer again, which needs no job.
    mutating func repeatLatest() {
        now += 1_000_000_000
        machine.requestFrame(at: now)
        settle()
        let begun = machine.beginUpload(at: now)
        #expect(begun == nil)
        settle()
    }

    /// Submits a frame that the pacing holds back.
    mutating func `defer`(_ content: FrameContent) throws {
        let frame = UploadFrame(content, timestamp: now + 1, offeredAt: now)
        guard case .decided(.deferred(.paced)) = machine.offer(frame, at: now) else {
            throw TransportError(.busy, "not deferred")
        }
    }

    /// Sends what the pacing holds back.
    mutating func flush() throws {
        machine.finish(1, at: now)
        settle()
        _ = try encodeNext()
    }

    /// Submits a frame, and sends what is due; returns the job, and what is held while it is done.
    mutating func send(_ content: FrameContent) throws -> (job: EncodingJob, heldBytes: Int) {
        now += 1_000_000_000
        let frame = UploadFrame(content, offeredAt: now)
        switch machine.offer(frame, at: now) {
        case .decided(.taken): break
        case .decided: throw TransportError(.busy, "dropped")
        case .compare(var frame):
            frame.digest = digester.digest(content, orientation: .up)
            guard machine.admit(frame, at: now) == .taken else { throw TransportError(.busy, "dropped") }
        }
        settle()
        return try #require(try encodeNext())
    }

    /// Encodes and sends what is due; returns the job, and what is held while it is done, if there is one.
    mutating func encodeNext() throws -> (job: EncodingJob, heldBytes: Int)? {
        guard var job = machine.beginUpload(at: now) else { return nil }
        let result = (job, machine.heldBytes)
        let ended = ended
        let encoded = job.encode(with: encoder, digester, store) { lease in
            ended.withLock { $0.append(lease) }
        }
        machine.encoded(encoded, at: now)
        settle()
        return result
    }
}
