import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// What an uploader shares and counts if its receiver accepts shared memory.
@Suite(.tags(.computes)) struct UploaderSharingTests {
    @Test(arguments: [true, false])
    func `a frame counts as what it was when it was sent, although the receiver is gone`(isShared: Bool) throws {
        var uploader = SharingUploader(.init(usesStrips: false, sharesMemory: isShared))
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
        var own = SampleUploader.Configuration(usesStrips: false, sharesMemory: true)
        var uploader = SharingUploader(own)
        uploader.change { $0.preferences = .init(size: BufferSize(width: 16, height: 16)) }
        #expect(try uploader.send(.pixels(try testImage(64, 48))).place != nil)
        own.limits.maximumDimension = 32
        uploader.machine.update(own, at: 1_000_000_000)
        uploader.change { $0.preferences = .init(size: BufferSize(width: 48, height: 48)) }
        #expect(try uploader.encodeNext() == nil)
        own.limits = .init()
        uploader.machine.update(own, at: 1_000_000_000)
        let job = try uploader.encodeNext()
        #expect(job?.recipe?.output.canvas == BufferSize(width: 48, height: 36))
        #expect(job?.place != nil)
    }

    /// Shows P79.
    @Test func `a new size applies to the latest image at once, and an equal one is no news then`() throws {
        let image = try testImage(64, 48, as: .gray)
        let pacing = SampleUploader.Pacing.everyFrame.skippingUnchanged(keepAlive: nil)
        var uploader = SharingUploader(.init(pacing: pacing, usesStrips: false, sharesMemory: true))
        #expect(try uploader.send(.pixels(image)).place != nil)
        // The receiver keeps the first buffer, so that the repeat is copied to another.
        uploader.change { $0.preferences = .init(size: BufferSize(width: 32, height: 24)) }
        let again = try #require(try uploader.encodeNext())
        #expect(again.place != nil && again.place?.index != 0 && again.recipe?.output.canvas.width == 32)
        try uploader.offer(.pixels(image))
        #expect(try uploader.encodeNext() != nil)
        #expect(uploader.machine.statistics.drops == [.unchanged: 1])
    }

    @Test func `a wait for a buffer that is over stays over until the turn that it has led to`() throws {
        let image = try testImage(64, 48, as: .gray)
        var uploader = SharingUploader(.init(usesStrips: false, sharesMemory: true))
        for _ in 0..<3 { #expect(try uploader.send(.pixels(image)).place != nil) }
        // The receiver keeps all buffers for two seconds.
        try uploader.offer(.pixels(image))
        uploader.pass(1_000_000_000)
        // Whatever happens before the turn.
        uploader.change { $0.refreshes += 1 }
        let job = try uploader.encodeNext()
        #expect(job != nil && job?.place == nil)
    }

    /// Shows P61.
    @Test(arguments: [false, true])
    func `frames wait for a hello only where memory can be shared`(mayShareMemory: Bool) {
        var machine = UploaderMachine(.init(sharesMemory: true), owner: 1)
        var terms = ReceiverTerms()
        (terms.connection, terms.revision, terms.isConnected) = (1, 1, true)
        terms.mayShareMemory = mayShareMemory
        machine.termsChanged(terms, at: 0)
        _ = machine.offer(.jpeg(FrameBytes([1]), BufferSize(width: 8, height: 8)), at: 0)
        #expect(machine.takeEffects().startsUpload == !mayShareMemory)
    }

    @Test func `a receiver that declines gets the latest frame, even if the pacing holds it back`() throws {
        let image = try testImage(64, 48, as: .gray)
        var uploader = SharingUploader(.init(pacing: .framesPerSecond(1), usesStrips: false, sharesMemory: true))
        #expect(try uploader.send(.pixels(image)).place != nil)
        let second = try uploader.begin(.pixels(image))
        try uploader.defer(.pixels(image))
        uploader.change { $0.acceptsSharedMemory = false }
        try uploader.end(second, with: { .notShared($0) })
        #expect(try uploader.encodeNext() != nil)
        #expect(uploader.machine.statistics.sent == 2 && uploader.machine.statistics.drops == [.superseded: 1])
    }

    /// Shows P283.
    @Test func `a lack of memory to share with one receiver says nothing about the next`() throws {
        let image = try testImage(64, 48, as: .gray)
        var uploader = SharingUploader(.init(usesStrips: false, sharesMemory: true))
        let first = try uploader.begin(.pixels(image))
        uploader.reconnect()
        try uploader.end(first, with: { .notShared($0) })
        #expect(uploader.machine.sharing.isOpen)
        let job = try #require(try uploader.encodeNext())
        #expect(job.place != nil)
    }

    /// Shows P341.
    @Test func `an image that a receiver has in shared memory is not sent again at a higher quality`() throws {
        let image = try testImage(64, 48, as: .gray)
        var configuration = SampleUploader.Configuration(usesStrips: false, sharesMemory: true)
        configuration.adaptation = .init(maximumByteRate: 2_000, preference: .motion)
        var uploader = SharingUploader(configuration)
        uploader.change { $0.acceptsSharedMemory = false }
        #expect(try uploader.send(.pixels(image)).quality == 80)
        uploader.pass(60_000_000_000)
        let coarse = try uploader.send(.pixels(try testImage(64, 46, as: .gray)))
        #expect(try #require(coarse.quality) < 80)
        let isDue = uploader.isDue
        #expect(isDue, "it is to be sharp")
        uploader.change { terms in
            terms.acceptsSharedMemory = true
            terms.refreshes += 1
        }
        #expect(try uploader.encodeNext()?.place != nil)
        #expect(uploader.machine.statistics.quality == nil, "the latest image is no JPEG")
        // Nor if sharing ends: what the receiver has is the image itself.
        configuration.sharesMemory = false
        uploader.machine.update(configuration, at: 100_000_000_000)
        let isDueAgain = uploader.isDue
        #expect(!isDueAgain)
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
        let image = try testImage(64, 48, as: .gray)
        var uploader = SharingUploader(.init(usesStrips: false, sharesMemory: true))
        for _ in 0..<Sharing.count { #expect(try uploader.send(.pixels(image)).place != nil) }
        try uploader.offer(.pixels(image))
        #expect(try uploader.encodeNext() == nil, "the next one waits")
        uploader.pass(999_000_000)
        #expect(try uploader.encodeNext() == nil)
        uploader.pass(1_000_000)
        #expect(try uploader.encodeNext().map { $0.place == nil } == true)
        #expect(uploader.machine.statistics.sent == 4)
        #expect(try uploader.send(.pixels(image)).place == nil)
        uploader.release(1)
        #expect(try uploader.send(.pixels(image)).place?.index == 1)
        try uploader.offer(.pixels(image))
        #expect(try uploader.encodeNext() == nil, "the next one waits again")
        #expect(uploader.machine.statistics.shared == 4)
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

    /// Whether anything follows, sooner or later.
    var isDue: Bool {
        mutating get { if case .nothing = machine.next(at: now) { false } else { true } }
    }

    /// Submits a frame, and begins to encode it.
    mutating func begin(_ content: FrameContent) throws -> EncodingJob {
        now += 1_000_000_000
        _ = machine.offer(content, at: now)
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

    /// Sends what is to be sent.
    private mutating func settle() {
        if machine.takeEffects().message != nil { machine.sent(nil, at: now) }
        _ = machine.takeEffects()
    }

    /// Lets time pass.
    mutating func pass(_ time: UInt64) {
        now += time
        machine.deadlinePassed(at: now)
        settle()
    }

    /// Releases a buffer.
    mutating func release(_ index: Int) {
        change { $0.releases[index] += 1 }
    }

    /// Submits a frame that the pacing holds back.
    mutating func `defer`(_ content: FrameContent) throws {
        guard machine.offer(content, timestamp: now + 1, at: now) == .deferred(.paced) else {
            throw TransportError(.busy, "not deferred")
        }
    }

    /// Submits a frame, and sends what is due; returns the job.
    mutating func send(_ content: FrameContent) throws -> EncodingJob {
        try offer(content)
        return try #require(try encodeNext())
    }

    /// Submits a frame that is taken.
    mutating func offer(_ content: FrameContent) throws {
        now += 1_000_000_000
        guard machine.offer(content, at: now) == .taken else { throw TransportError(.busy, "dropped") }
        settle()
    }

    /// Encodes and sends what is due; returns the job, if there is one.
    mutating func encodeNext() throws -> EncodingJob? {
        guard var job = machine.beginUpload(at: now) else { return nil }
        let result = job
        machine.encoded(job.encode(with: encoder, digester, store), at: now)
        settle()
        return result
    }
}
