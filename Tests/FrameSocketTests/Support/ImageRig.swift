import FrameTransport
import FrameWire
import Testing
import TurboJPEG

@testable import FrameSocket

/// How an image is submitted.
enum Submission: CaseIterable {
    case lent, copied, resized, jpeg

    /// What a machine is offered then.
    func content(of image: PixelBuffer, _ configuration: SampleUploader.Configuration = .init()) throws -> FrameContent
    {
        switch self {
        case .lent: return .pixels(image)
        case .copied:
            let recipe = EncodingRecipe(copying: image, .up, .init(configuration))
            return .scaled(try recipe.copy(image, of: .jpeg, pool: .init()), by: recipe.output)
        case .resized: return .resizableJPEG(FrameBytes(try JPEGEncoder().encode(image)), image.size)
        case .jpeg: return .jpeg(FrameBytes(try JPEGEncoder().encode(image)), image.size)
        }
    }
}

/// An uploader's machine and a plain receiver; what it asks for is done at once, or as the test says.
struct ImageRig {
    var machine: UploaderMachine
    var now: UInt64 = 1_000_000_000
    /// What the connection has accepted, or failed to send.
    var messages: [FrameMessage] = []
    /// What was to be encoded or copied.
    var jobs: [EncodingJob] = []
    var encodingFails = false
    var sendingFails: SampleUploader.DropCause?
    private var terms = ReceiverTerms()
    private let encoder = FrameEncoder()
    private let digester = FrameDigester()
    private let store = SharedBufferStore()

    init(_ configuration: SampleUploader.Configuration, _ change: (inout ReceiverTerms) -> Void = { _ in }) {
        machine = UploaderMachine(configuration, owner: 1)
        self.change { terms in
            (terms.connection, terms.isConnected) = (1, true)
            change(&terms)
        }
    }

    /// The terms of a receiver that accepts shared memory.
    static func sharing(_ terms: inout ReceiverTerms) {
        (terms.isGreeted, terms.mayShareMemory, terms.acceptsSharedMemory) = (true, true, true)
    }

    mutating func change(settles: Bool = true, _ change: (inout ReceiverTerms) -> Void) {
        change(&terms)
        terms.revision += 1
        machine.termsChanged(terms, at: now)
        if settles { settle() }
    }

    mutating func update(_ configuration: SampleUploader.Configuration) {
        machine.update(configuration, at: now)
        settle()
    }

    @discardableResult
    mutating func offer(
        _ content: FrameContent,
        orientation: FrameOrientation = .up,
        damage: ImageDamage? = nil,
        settles: Bool = true
    ) -> SampleUploader.Outcome {
        now += 10_000_000
        let outcome = machine.offer(content, orientation: orientation, damage: damage, at: now)
        if settles { settle() }
        return outcome
    }

    /// Offers an image that is copied when it is submitted.
    mutating func offer(copying image: PixelBuffer, damage: ImageDamage?) throws {
        now += 10_000_000
        let admission = machine.offerCopy(of: image, orientation: .up, damage: damage, at: now)
        guard case .copy(let recipe, let entry) = admission else {
            Issue.record("the image is not copied")
            return
        }
        let copy = try recipe.copy(image, of: .jpeg, pool: .init())
        _ = machine.offer(.scaled(copy, by: recipe.output), entry: entry, at: now)
        settle()
    }

    /// Lets time pass, in steps of 23 ms at most.
    mutating func pass(milliseconds: UInt64) {
        let end = now + milliseconds * 1_000_000
        while now < end {
            now = min(end, now + 23_000_000)
            if let timer = machine.timer, timer <= now {
                machine.deadlinePassed(at: now)
                settle()
            }
        }
    }

    /// Offers a frame that is sent, and returns its job.
    @discardableResult
    mutating func send(_ content: FrameContent) throws -> EncodingJob? {
        let count = messages.count
        offer(content)
        try #require(messages.count == count + 1)
        return jobs.last
    }

    /// Begins the job that is due.
    mutating func begin() throws -> EncodingJob {
        let begun = next()
        return try #require(begun)
    }

    private mutating func next() -> EncodingJob? {
        guard let job = machine.beginUpload(at: now) else { return nil }
        jobs.append(job)
        return job
    }

    /// Ends a job: encodes it, or reports another result.
    mutating func end(_ job: EncodingJob, settles: Bool = true, _ result: ((FrameContent) -> EncodingResult)? = nil) {
        var job = job
        let made = job.content.flatMap { result?($0) } ?? job.encode(with: encoder, digester, store)
        machine.encoded(made, at: now)
        if settles { settle() }
    }

    /// A JPEG of 64x48 pixels, as far as its size goes.
    static func jpeg(_ byteCount: Int) -> EncodingResult {
        let jpeg = FrameBytes([UInt8](repeating: 0, count: byteCount))
        return .encoded(
            FrameMessage(jpeg: jpeg, info: FrameInfo(bufferSize: BufferSize(width: 64, height: 48))),
            digest: nil
        )
    }

    mutating func settle() {
        var effects = machine.takeEffects()
        while effects.startsUpload || effects.message != nil {
            if let message = effects.message {
                messages.append(message)
                machine.sent(sendingFails, at: now)
            } else if let job = next() {
                let failure = EncodingResult.failed(TurboJPEGError(.encodeFailed, "as told"))
                end(job, settles: false, encodingFails ? { _ in failure } : nil)
            }
            effects = machine.takeEffects()
        }
    }
}
