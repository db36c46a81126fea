internal import FrameWire

/// Turns the bytes of one socket into frames: the decoder, and the memory that bodies are read into.
///
/// A read goes straight into the frame's own memory, and past its end into a small staging area, so that one call
/// brings the rest of a body and the next head together. Only what of a body arrives with its head is copied.
@safe struct FrameReceiver: ~Copyable {
    enum Progress {
        case frame(Frame)
        case audio(AudioMessage)
        case status(SenderStatus)
        /// The head of a body has come that is so large that memory for it must be granted first.
        case needsGrant(bytes: Int)
        /// The socket has no more for now.
        case wouldBlock
        /// The peer will send no more, and stopped between two messages.
        case endOfStream
    }

    /// Where in a message the stream stands; deadlines follow from it.
    enum Phase: Equatable {
        case betweenMessages
        case head
        case body(length: Int)
    }

    /// A message whose body is being read.
    private enum Message {
        case frame(FrameHead)
        case audio(AudioHead)
        case unknown

        /// The bytes of the body; nil where they are thrown away.
        var keptByteCount: Int? {
            switch self {
            case .frame(let head): head.contentLength
            case .audio(let head): head.contentLength
            case .unknown: nil
            }
        }
    }

    /// The first memory of a body whose like has not been seen: the rest is taken as the bytes arrive, never on a claim.
    private static let firstCapacity = 64 << 10
    private static let stagingCapacity = 2048

    private(set) var phase = Phase.betweenMessages
    /// How many messages of any kind have come whole.
    private(set) var messages = 0
    private var frames = 0

    private var decoder: FrameMessageDecoder
    private let pool: BytePool
    private let tally: DecodingTally
    /// Sees what is read.
    private let tap: ((Span<UInt8>) -> Void)?
    /// The largest body that needs no grant.
    private let share: Int
    private var needsGrant = false
    private var grant: MemoryBudget.Grant?
    private let staging: MemoryRun
    private var staged = 0..<0
    private var message: Message?
    private var body: FrameBytes?
    private var largestBody = 0
    private var startedAt: UInt64 = 0
    private var mayHaveMore = false
    private var hasHungUp = false
    private var isAtEnd = false

    init(limits: WireLimits, pool: BytePool, share: Int, tally: DecodingTally, tap: ((Span<UInt8>) -> Void)? = nil) {
        decoder = FrameMessageDecoder(limits: limits)
        self.pool = pool
        self.share = share
        self.tally = tally
        self.tap = tap
        unsafe staging = .allocate(byteCount: Self.stagingCapacity, alignment: 16)
    }

    deinit {
        unsafe staging.deallocate()
    }

    /// Notes that the socket has become readable; a report comes once for each change.
    mutating func socketBecameReady(_ readiness: Readiness) {
        if readiness.contains(.readable) { mayHaveMore = true }
        if readiness.contains(.hangup) { hasHungUp = true }
    }

    /// Takes the memory that was asked for, so that the body can be read.
    mutating func take(_ grant: MemoryBudget.Grant) {
        self.grant = grant
        needsGrant = false
    }

    /// Gives up the body that is being read: the connection has ended.
    mutating func abandon() {
        message = nil
        body = nil
        grant = nil
    }

    /// Reads on to the end of the next frame, or of what there is.
    mutating func receive(from socket: Int32) throws(TransportError) -> Progress {
        if needsGrant { return .needsGrant(bytes: decoder.bodyRemaining) }
        while true {
            if let progress = try decodeStaged() { return progress }
            guard mayHaveMore else { return .wouldBlock }
            guard try read(from: socket) else {
                guard isAtEnd else { return .wouldBlock }
                try finish()
                return .endOfStream
            }
            if let progress = finishedBody() { return progress }
        }
    }

    /// Sees to it that the stream has not ended within a message.
    private mutating func finish() throws(TransportError) {
        do {
            try decoder.finish()
        } catch {
            throw TransportError(error)
        }
    }

    // MARK: From the staging area

    /// Decodes what is staged, up to the end of a message.
    private mutating func decodeStaged() throws(TransportError) -> Progress? {
        while !staged.isEmpty {
            let run = unsafe UnsafeRawBufferPointer(rebasing: staging[staged])
            let step: FrameMessageDecoder.Step
            do {
                step = try unsafe decoder.decode(Span<UInt8>(_unsafeBytes: run))
            } catch {
                throw TransportError(error)
            }
            if phase == .betweenMessages {
                phase = .head
                startedAt = MonotonicClock.now()
            }
            staged = (staged.lowerBound + step.consumed)..<staged.upperBound
            switch step.event {
            case .incomplete:
                break
            case .head(let head):
                if head.contentLength > share {
                    try begin(.frame(head))
                    needsGrant = true
                    return .needsGrant(bytes: head.contentLength)
                }
                try begin(.frame(head))
            case .audio(let head):
                try begin(.audio(head))
            case .skipped:
                try begin(.unknown)
            case .status(let status):
                phase = .betweenMessages
                messages += 1
                return .status(status)
            case .body:
                try makeRoom(for: step.consumed)
                unsafe body?.append(UnsafeRawBufferPointer(rebasing: run[..<step.consumed]))
            }
            if let progress = finishedBody() { return progress }
        }
        return nil
    }

    private mutating func begin(_ message: Message) throws(TransportError) {
        self.message = message
        phase = .body(length: decoder.bodyRemaining)
        guard let length = message.keptByteCount else { return }
        // What this connection has sent before, it may send again; a larger claim must first be made good.
        let trusted = max(Self.firstCapacity, largestBody * 2)
        body = FrameBytes(capacity: min(length, trusted), pool: pool)
        try makeRoom(for: min(1, length))
    }

    /// Takes the message out where its body is whole.
    private mutating func finishedBody() -> Progress? {
        guard let message, decoder.bodyRemaining == 0 else { return nil }
        self.message = nil
        phase = .betweenMessages
        messages += 1
        switch (message, body.take()) {
        case (.frame(let head), let jpeg?): return .frame(frame(head, jpeg))
        case (.audio(let head), let samples?): return .audio(AudioMessage(head, samples: samples))
        default: return nil
        }
    }

    private mutating func frame(_ head: FrameHead, _ jpeg: FrameBytes) -> Frame {
        defer { frames += 1 }
        largestBody = max(largestBody, jpeg.count)
        let now = MonotonicClock.now()
        defer { grant = nil }
        return Frame(
            jpeg: jpeg,
            head: head,
            index: frames,
            receivedAt: now,
            transferTime: now &- startedAt,
            tally: tally,
            grant: grant
        )
    }

    /// Sees to it that `count` more bytes, or some at least, have a place in the body.
    ///
    /// - Throws: `noMemory`.
    private func makeRoom(for count: Int) throws(TransportError) {
        guard let body, let length = message?.keptByteCount, body.capacity < body.count + count else { return }
        body.grow(to: min(length, max(body.capacity * 2, body.count + count)))
        guard body.capacity < body.count + count else { return }
        throw TransportError(.noMemory, "the system has no memory for a body of \(length) bytes")
    }

    // MARK: From the socket

    /// Reads once; false where the socket had nothing, or the stream has ended.
    private mutating func read(from socket: Int32) throws(TransportError) -> Bool {
        try makeRoom(for: 1)
        let rest = decoder.bodyRemaining
        let target = unsafe body?.freeRun(limit: rest) ?? MemoryRun(start: nil, count: 0)
        // While the body does not fit yet, what follows belongs to it and not to the staging area.
        let isAllThere = target.count == rest || body == nil
        let spill = unsafe isAllThere ? staging : MemoryRun(start: nil, count: 0)
        let transfer: Transfer
        do {
            transfer = try unsafe Syscalls.receive(from: socket, into: target, spill)
        } catch {
            throw .lost(error)
        }
        guard case .bytes(let count, let isShort) = transfer else {
            mayHaveMore = false
            return false
        }
        guard count > 0 else {
            isAtEnd = true
            return false
        }
        // A short read has emptied the socket, and the next bytes come with a report of their own; but an end that
        // was reported together with these bytes will not be reported again.
        mayHaveMore = !isShort || hasHungUp
        let direct = min(count, target.count)
        if let tap { unsafe show(tap, target, direct, count - direct) }
        body?.advance(by: direct)
        _ = decoder.consumeBody(direct)
        staged = 0..<(count - direct)
        return true
    }

    /// Shows what was read: so many bytes of the body, and so many behind them.
    private func show(_ tap: (Span<UInt8>) -> Void, _ target: MemoryRun, _ direct: Int, _ spilled: Int) {
        if direct > 0 {
            unsafe tap(Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: target[..<direct])))
        }
        if spilled > 0 {
            unsafe tap(Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: staging[..<spilled])))
        }
    }
}
