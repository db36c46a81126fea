import FrameTransport
import FrameWire
import Locking
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// An uploader without threads or sockets, whose receivers, encoder and source behave at random: whatever is made with
/// the help of damage is what is made of the whole image.
struct DamageRig {
    private(set) var machine: UploaderMachine
    private var random: SplitMix
    private var source: DamageSource
    private var terms = ReceiverTerms()
    private var now: UInt64 = 1_000_000_000
    private let name: String
    /// How the program submits its images, mostly.
    private let habit: Int
    /// The fewer steps in which something else happens than that an image is submitted, the higher.
    private let disturbance: Int

    private let encoder = FrameEncoder()
    private let digester = FrameDigester()
    private let store = SharedBufferStore()

    /// The submitted images by their timestamps, those that are copied as they were copied.
    private var images: [UInt64: PixelBuffer] = [:]
    private var newest: UInt64 = 0
    /// Whether the newest image need not arrive.
    private var isNewestLost = true
    /// The timestamp of the latest image that the receiver has got.
    private var received: UInt64?
    /// What the receiver has got last in shared memory.
    private var receivedPixels: (pixels: PixelBuffer, orientation: FrameOrientation)?
    /// The image that was copied to a shared buffer last.
    private var copied: PixelBuffer?
    /// The last message, which is still to be sent.
    private var message: FrameMessage?
    private var isUploadRequested = false
    private var job: EncodingJob?

    /// A copy that another thread makes meanwhile.
    private var copy: (image: PixelBuffer, orientation: FrameOrientation, recipe: EncodingRecipe, entry: UInt64)?

    /// What damage is good for.
    enum Use: CaseIterable {
        /// A JPEG, or a copy in a shared buffer, of which rows are known to be unchanged.
        case encoded, copied
        /// An image that is known to be unchanged without a hash.
        case unchanged
    }

    /// How often damage was of use.
    private(set) var uses: [Use: Int] = [:]

    init(seed: UInt64) throws {
        random = SplitMix(seed: seed)
        name = "seed \(seed)"
        source = try DamageSource(&random)
        habit = Int.random(in: 0..<2, using: &random)
        disturbance = [40, 60, 200].randomElement(using: &random) ?? 40
        machine = UploaderMachine(.init(), owner: 1)
        machine = UploaderMachine(configuration(), owner: 1)
        connect()
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    private mutating func configuration() -> SampleUploader.Configuration {
        var configuration = SampleUploader.Configuration()
        configuration.quality = Int.random(in: 50...90, using: &random)
        let side = Int.random(in: 8...120, using: &random)
        let scales: [SampleUploader.OutputScale] = [
            .full, .full, .half, .fraction(numerator: 2, denominator: 3), .fit(width: side, height: 2 * side),
            .width(side),
            .letterbox(width: side, height: side), .fill(width: side, height: side),
        ]
        configuration.scale = scales.randomElement(using: &random) ?? .full
        configuration.subsampling = ChromaSubsampling.allCases.randomElement(using: &random) ?? .yuv420
        configuration.appliesOrientation = chance(2)
        let pacings: [SampleUploader.Pacing] = [
            .everyFrame, .everyFrame, .framesPerSecond(20), .everyFrame.skippingUnchanged(),
            .framesPerSecond(20).skippingUnchanged(), .adaptive(still: 2, motion: 20), .every(2),
        ]
        configuration.pacing = pacings.randomElement(using: &random) ?? .everyFrame
        if chance(3) {
            let image = try? PixelBuffer(width: 9, height: 7, format: .bgra) { _, x, y in UInt8(40 * (x % 4) + 9 * y) }
            configuration.watermark = image.flatMap { try? .init($0, x: 0.2, y: 0.3, scale: 0.3) }
        }
        configuration.sharesMemory = chance(2)
        return configuration
    }

    // MARK: Steps

    mutating func step() throws {
        now += UInt64.random(in: 1...60, using: &random) * 1_000_000
        switch Int.random(in: 0..<disturbance, using: &random) {
        case 0: try source.resize(&random)
        case 1: source.turn(&random)
        case 2: change { $0.isPaused.toggle() }
        case 3: change { $0.isConnected = false }
        case 4, 5: connect()
        case 6: change { $0.refreshes += 1 }
        case 7:
            let side = Int.random(in: 10...100, using: &random)
            change { $0.preferences = side % 3 == 0 ? .init() : .init(size: BufferSize(width: side, height: side)) }
        case 8: machine.update(configuration(), at: now)
        case 9: machine.requestFrame(at: now)
        case 10: change { $0.wants = $0.wants == .audio ? .frames : .audio }
        case 11: change { $0.acceptsSharedMemory.toggle() }
        case 12: machine.giveUpImages()
        case 13: try offer(jpeg: true)
        case 14: try finishCopy()
        case 15...19: release()
        case 20...25: try source.draw(&random)
        default: try offer()
        }
        try settle()
    }

    private mutating func change(_ change: (inout ReceiverTerms) -> Void) {
        change(&terms)
        terms.revision += 1
        machine.termsChanged(terms, at: now)
    }

    private mutating func connect() {
        let (connection, revision) = (terms.connection, terms.revision)
        terms = ReceiverTerms()
        (terms.connection, terms.revision, terms.isConnected) = (connection + 1, revision, true)
        (terms.isGreeted, terms.mayShareMemory, terms.acceptsSharedMemory) = (true, true, !chance(4))
        (received, receivedPixels) = (nil, nil)
        change { _ in }
    }

    private mutating func release() {
        let index = Int.random(in: 0..<4, using: &random)
        change { $0.releases[index] += 1 }
    }

    // MARK: The source

    private mutating func offer(jpeg isJPEG: Bool = false) throws {
        if chance(2) { try source.draw(&random) }
        let image = source.screen
        let damage = source.takeDamage(&random).map {
            ImageDamage($0, of: BufferSize(width: image.width, height: image.height))
        }
        if isJPEG {
            let jpeg: [UInt8] = try JPEGEncoder().encode(image)
            let size = BufferSize(width: image.width, height: image.height)
            return submit(.jpeg(FrameBytes(jpeg), size), of: image)
        }
        switch chance(8) ? 1 - habit : habit {
        case 0: submit(.pixels(image), of: image, damage: damage)
        default:
            let orientation = source.orientation
            switch machine.offerCopy(of: image, orientation: orientation, damage: damage, at: now) {
            case .decided: (newest, isNewestLost) = (newest + 1, true)
            case .copy(let recipe, let entry):
                if copy == nil, chance(3) {
                    copy = (image, orientation, recipe, entry)
                } else {
                    let copy = try recipe.copy(image, of: .jpeg, pool: .init())
                    submit(.scaled(copy, by: recipe.output), of: image, entry: entry)
                }
            }
        }
    }

    private mutating func finishCopy() throws {
        guard let (image, orientation, recipe, entry) = copy.take() else { return }
        let copy = try recipe.copy(image, of: .jpeg, pool: .init())
        submit(.scaled(copy, by: recipe.output), of: image, orientation, entry: entry)
    }

    private mutating func submit(
        _ content: FrameContent,
        of image: PixelBuffer,
        _ orientation: FrameOrientation? = nil,
        damage: ImageDamage? = nil,
        entry: UInt64? = nil
    ) {
        newest = now
        (images[now], isNewestLost) = (content.pixels ?? image, false)
        let orientation = orientation ?? source.orientation
        switch machine.offer(content, orientation: orientation, damage: damage, entry: entry, at: now) {
        case .dropped(.unchanged): uses[.unchanged, default: 0] += 1
        case .taken, .deferred, .dropped(.paced): break
        case .dropped: isNewestLost = true
        }
    }

    // MARK: The encoder and the connection

    /// Does a part of what the machine asks for.
    private mutating func settle() throws {
        takeEffects()
        for _ in 0..<Int.random(in: 0...4, using: &random) { try work(mayFail: true) }
        if disturbance > 100, chance(2) { release() }
    }

    private mutating func takeEffects() {
        while true {
            let effects = machine.takeEffects()
            if effects.startsUpload { isUploadRequested = true }
            if let message = effects.message { self.message = message }
            if let generation = effects.dropsBuffersBefore { store.removeAll(before: generation) }
            if effects.isEmpty { return }
        }
    }

    private mutating func work(mayFail: Bool) throws {
        if let deadline = machine.timer, deadline <= now { machine.deadlinePassed(at: now) }
        if var job {
            self.job = nil
            let result = mayFail && chance(25) ? fail(job) : try encode(&job)
            machine.encoded(result, at: now)
        } else if let message {
            self.message = nil
            if mayFail, chance(12) {
                machine.sent(chance(2) ? .superseded : .notConnected, at: now)
            } else {
                receive(message)
                machine.sent(nil, at: now)
            }
        } else if isUploadRequested {
            isUploadRequested = false
            job = machine.beginUpload(at: now)
        }
        takeEffects()
    }

    private mutating func fail(_ job: EncodingJob) -> EncodingResult {
        if job.place != nil, chance(2) { return .notShared }
        isNewestLost = true
        return .failed(TurboJPEGError(.encodeFailed, "as told"))
    }

    private mutating func encode(_ job: inout EncodingJob) throws -> EncodingResult {
        let whole = job
        if let rows = job.rows, let size = job.recipe?.output.canvas,
            rows != RowSet(allOf: size.height)
        {
            uses[job.place == nil ? .encoded : .copied, default: 0] += 1
        }
        let result = job.encode(with: encoder, digester, store)
        guard let content = whole.content else { return result }
        switch result {
        case .encoded(let message, _, _):
            let expected = try FrameEncoder().encode(content, whole.orientation, whole.recipe).message
            let isSame = message.jpeg.array() == expected.jpeg.array()
            #expect(isSame, "\(name): another JPEG")
        case .shared(let copy, _):
            let expected = try FrameEncoder().prepare(content, whole.orientation, whole.recipe).image
            #expect(copy.pixels.hasSamePixels(as: expected), "\(name): other pixels")
            copied = copy.pixels
        case .notShared, .unchanged, .failed: break
        }
        return result
    }

    private mutating func receive(_ message: FrameMessage) {
        received = message.timestamp
        guard case .shared(let header, _) = message.content, let pixels = copied else { return }
        if let rows = header.changedRows, let last = receivedPixels {
            let isComparable = last.orientation == header.info.orientation && last.pixels.format == pixels.format
            let isCovered = try? pixels.differs(from: last.pixels, onlyIn: rows)
            #expect(isComparable && isCovered == true, "\(name): rows outside \(rows) differ")
        }
        receivedPixels = (try? pixels.copied(pool: .init())).map { ($0, header.info.orientation) }
    }

    // MARK: The end

    /// Lets everything work, and checks that the receiver then has the newest image.
    mutating func checkLatest() throws {
        try finishCopy()
        change { terms in
            (terms.isPaused, terms.wants, terms.preferences) = (false, .frames, .init())
            if !terms.isConnected {
                (terms.isConnected, terms.connection) = (true, terms.connection + 1)
                terms.isGreeted = true
            }
        }
        machine.requestFrame(at: now)
        machine.finish(1, at: now)
        for round in 0..<40 {
            now += 100_000_000
            if round % 4 == 0 { for index in 0..<4 { change { $0.releases[index] += 1 } } }
            takeEffects()
            for _ in 0..<4 { try work(mayFail: false) }
        }
        guard !isNewestLost, let newest = images[newest] else { return }
        let image = received.flatMap { images[$0] }
        #expect(image?.hasSamePixels(as: newest) == true, "\(name): an older image")
    }
}

extension PixelBuffer {
    /// Returns whether this image differs from another of the same size and format in no rows but these.
    fileprivate func differs(from other: PixelBuffer, onlyIn rows: Range<Int>) throws -> Bool {
        let differing = try self.rows(differingFrom: other, within: RowSet(allOf: height))
        return differing.ranges.allSatisfy { rows.contains($0.lowerBound) && rows.contains($0.upperBound - 1) }
    }
}
