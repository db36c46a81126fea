import FrameWire
import TestSupport
import Testing

@testable import FrameSocket
@testable import FrameTransport

/// An uploader's machine with a clock, an encoder and a connection that the test controls.
struct UploaderRig {
    /// What happens to the machine, or around it.
    enum Step {
        /// A frame is offered; `shows` is what it looks like, by default its number, and `bytes` its size. Its timestamp is
        /// the time of the offer unless one is given.
        case offer(_ number: UInt8, shows: UInt8? = nil, bytes: Int = 100, timestamp: UInt64? = nil)
        case connect
        case disconnect
        case pause
        case resume
        case hello(wantsFrames: Bool)
        case refresh
        case prefer(ControlRequest.Preferences)
        case request
        case update(SampleUploader.Configuration)
        /// Milliseconds pass, and with them the timer.
        case wait(UInt64)
        /// The encoder works again, or stops working.
        case encoding(Bool)
        /// The encoder begins what was asked for, and does not end it.
        case encodingBegins
        /// The encoder fails once.
        case encodingFails
        /// The connection accepts messages again, or stops accepting them.
        case sending(Bool)
        /// The message in progress has been sent.
        case messageIsOut
        /// The message in progress fails.
        case sendingFails(SampleUploader.DropCause)
        case finish(UInt64)
        case cancelFinish(UInt64)
        case close
    }

    var machine: UploaderMachine
    /// Nanoseconds of the monotonic clock.
    var now: UInt64 = 1_000_000_000
    /// The numbers of the frames whose messages the connection has accepted, in their order.
    var submitted: [UInt8] = []
    /// The messages themselves.
    var messages: [FrameMessage] = []
    /// What became of the frames when they were offered.
    var outcomes: [SampleUploader.Outcome] = []
    /// Who was told that the frames are done.
    var finished: [UInt64] = []
    /// How many times the timer was set.
    var timerCount = 0
    /// How many contents were hashed.
    var digestCount = 0

    private var terms = ReceiverTerms()
    private var isEncoding = true
    private var failsOnce = false
    private var isSending = true
    private var isTurnAsked = false
    private var job: EncodingJob?
    private var hasMessage = false

    init(_ configuration: SampleUploader.Configuration = .init()) {
        machine = UploaderMachine(configuration, owner: 1)
        machine.termsChanged(terms, at: now)
        settle()
    }

    /// Carries out steps, and what follows from each.
    mutating func run(_ steps: [Step], at location: SourceLocation = #_sourceLocation) {
        for step in steps { run(step, at: location) }
    }

    mutating func run(_ step: Step, at location: SourceLocation = #_sourceLocation) {
        switch step {
        case .offer(let number, let shows, let bytes, let timestamp): offer(number, shows ?? number, bytes, timestamp)
        case .connect:
            change { terms in
                let connection = terms.connection + 1
                let revision = terms.revision
                terms = ReceiverTerms()
                (terms.connection, terms.revision, terms.isConnected) = (connection, revision, true)
            }
        case .disconnect:
            change { terms in
                let (connection, revision) = (terms.connection, terms.revision)
                terms = ReceiverTerms()
                (terms.connection, terms.revision) = (connection, revision)
            }
        case .pause: change { $0.isPaused = true }
        case .resume: change { $0.isPaused = false }
        case .hello(let wantsFrames): change { $0.wants = wantsFrames ? .frames : .audio }
        case .refresh: change { $0.refreshes += 1 }
        case .prefer(let preferences): change { $0.preferences = preferences }
        case .request: machine.requestFrame(at: now)
        case .update(let configuration):
            machine.update(configuration, at: now)
        case .wait(let milliseconds): wait(milliseconds)
        case .encoding(let works): isEncoding = works
        case .encodingBegins:
            isTurnAsked = false
            job = machine.beginUpload(at: now)
        case .encodingFails: failsOnce = true
        case .sending(let works): isSending = works
        case .messageIsOut:
            hasMessage = false
            machine.sent(nil, at: now)
        case .sendingFails(let cause):
            hasMessage = false
            machine.sent(cause, at: now)
        case .finish(let id): machine.finish(id, at: now)
        case .cancelFinish(let id): machine.cancelWait(id, at: now)
        case .close: machine.close(at: now)
        }
        settle()
        check(at: location)
    }

    private mutating func change(_ change: (inout ReceiverTerms) -> Void) {
        let old = terms
        change(&terms)
        guard terms != old else { return }
        terms.revision = old.revision + 1
        machine.termsChanged(terms, at: now)
    }

    private mutating func offer(_ number: UInt8, _ shows: UInt8, _ bytes: Int, _ timestamp: UInt64?) {
        var content = [UInt8](repeating: 0, count: bytes)
        (content[0], content[1]) = (shows, number)
        let jpeg = FrameBytes(content)
        let image = FrameContent.jpeg(jpeg, BufferSize(width: 8, height: 8))
        outcomes.append(machine.offer(image, timestamp: timestamp, at: now))
    }

    private mutating func wait(_ milliseconds: UInt64) {
        let end = now + milliseconds * 1_000_000
        while let deadline = machine.timer, deadline <= end {
            now = max(now, deadline)
            machine.deadlinePassed(at: now)
            settle()
        }
        now = end
    }

    /// Does what the machine asks for, until nothing follows from it.
    private mutating func settle() {
        var isMore = true
        while isMore {
            isMore = false
            let effects = machine.takeEffects()
            finished += effects.finished
            if effects.setsTimer { timerCount += 1 }
            if effects.startsUpload { isTurnAsked = true }
            if let message = effects.message, message.shared == nil {
                messages.append(message)
                submitted.append(message.jpeg.withSpan { $0[1] })
                hasMessage = true
                isMore = true
            }
            if isEncoding, isTurnAsked {
                isTurnAsked = false
                job = machine.beginUpload(at: now)
                isMore = true
            } else if isEncoding, let job {
                self.job = nil
                machine.encoded(result(of: job), at: now)
                isMore = true
            } else if isSending, hasMessage {
                hasMessage = false
                machine.sent(nil, at: now)
                isMore = true
            }
        }
    }

    private mutating func result(of job: EncodingJob) -> EncodingResult {
        guard case .jpeg(let jpeg, let size) = job.content, !failsOnce else {
            failsOnce = false
            return .failed(TurboJPEGError(.encodeFailed, "as told"))
        }
        let digest = UInt64(jpeg.withSpan { $0[0] })
        if job.comparison != .none { digestCount += 1 }
        if job.comparison == .against(digest) { return .unchanged(.jpeg(jpeg, size), digest: digest) }
        let image = FrameMessage(jpeg: jpeg, info: FrameInfo(bufferSize: size, orientation: job.orientation))
        return .encoded(image, digest: job.comparison == .none ? nil : digest)
    }

    /// What holds after every step.
    private func check(at location: SourceLocation) {
        let statistics = machine.statistics
        let isUnderWay = machine.work.stage != .none && !machine.work.isRepeat
        let isNext = machine.newest.state == .pending && machine.newest.ticket != machine.work.frame.ticket
        let pendingCount = (isUnderWay ? 1 : 0) + (isNext ? 1 : 0)
        #expect(statistics.inProgress == pendingCount, sourceLocation: location)
        #expect(statistics.drops.values.allSatisfy { $0 > 0 }, sourceLocation: location)
        let ages = [statistics.queueAge, statistics.encoding, statistics.transfer]
        #expect(ages.allSatisfy { $0.maximum.nanoseconds < 1 << 62 }, sourceLocation: location)
    }
}

extension UploaderRig.Step: Sendable {}
