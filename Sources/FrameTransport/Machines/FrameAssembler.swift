package import FrameWire

/// Assembles messages from the bytes of one stream: the decoder, and the memory that bodies are read into.
///
/// A read goes directly into the message's own memory, and past its end into a small staging area, which receives the
/// next header, so that one call reads the rest of a body and the next header together. Only the part of a body that
/// arrives with its header is copied.
@safe package struct FrameAssembler: ~Copyable {
    package enum Event {
        /// A complete frame.
        case frame(Frame)
        case audio(AudioMessage)
        case status(SenderStatus)
        case info(ControlRequest.SessionInfo)
        /// The announcement of a shared buffer.
        case sharedBuffer(SharedFrameHeader.Buffer)
        /// A complete frame in a shared buffer; see ``takeFrame(_:at:)``.
        case sharedFrame(SharedFrameHeader)
        /// A complete message that is not wanted, skipped by its length.
        case skipped(Skipped)
        /// The header of a body to keep, which is read after a call of ``admitBody()``.
        case body(byteCount: Int)
        /// More bytes are needed.
        case incomplete
    }

    /// What was skipped.
    package enum Skipped: Sendable, Hashable {
        case frame, audio, unknown
    }

    /// The position of the stream within a message; deadlines depend on it.
    package enum Phase: Sendable, Hashable {
        case betweenMessages
        case header
        case body(length: Int)
    }

    /// A message whose body is being read.
    private enum Message {
        case frame(FrameHeader)
        case audio(AudioHeader)
        case skipped(Skipped)

        /// The bytes of the body; nil if they are discarded.
        var keptByteCount: Int? {
            switch self {
            case .frame(let header): header.contentLength
            case .audio(let header): header.contentLength
            case .skipped: nil
            }
        }
    }

    /// The initial memory of a body of an unproven size: the rest is allocated as the bytes arrive, never on a claim.
    ///
    /// Discarded bytes are read in chunks of the same size.
    private static let firstCapacity = 64 << 10
    private static let stagingCapacity = 2048

    package private(set) var phase = Phase.betweenMessages
    /// The number of complete messages of any kind.
    package private(set) var messages = 0

    /// Whether frames are kept; if false, they are skipped from the next one on.
    package var keepsFrames = true
    /// The maximum length of audio messages; longer ones are skipped.
    package var longestAudio = 0

    private var frames = 0
    private var decoder: FrameMessageDecoder
    private let pool: FrameBytes.Pool
    private let tally: DecodingTally?
    private let staging: MemoryRun
    private var staged = 0..<0
    private var message: Message?
    /// The memory that the body is read into; for a discarded body, memory that is reused.
    private var body: FrameBytes?
    private var largestBody = 0
    private var startedAt: UInt64 = 0

    package init(limits: FrameMessageDecoder.Limits, pool: FrameBytes.Pool, tally: DecodingTally? = nil) {
        decoder = FrameMessageDecoder(limits: limits)
        self.pool = pool
        self.tally = tally
        unsafe staging = .allocate(byteCount: Self.stagingCapacity, alignment: 16)
    }

    deinit {
        unsafe staging.deallocate()
    }

    /// The memory of the body in progress, in bytes.
    package var heldByteCount: Int { body?.capacity ?? 0 }

    /// Whether ``next(at:)`` has an event before more is read.
    package var hasMore: Bool { !staged.isEmpty || (message != nil && decoder.bodyRemaining == 0) }

    /// Releases the body that is being read, because the connection has ended.
    package mutating func abandon() {
        message = nil
        body = nil
        staged = 0..<0
    }

    /// Begins the body whose header has arrived.
    ///
    /// - Throws: `noMemory`.
    package mutating func admitBody() throws(TransportError) {
        guard let length = message?.keptByteCount else { return }
        // This connection may send again what it has sent before; a larger claim must be proven first.
        let trusted = max(Self.firstCapacity, largestBody * 2)
        body = FrameBytes(capacity: min(length, trusted), pool: pool)
        try makeRoom(for: min(1, length))
    }

    /// Decodes the bytes read, up to the end of a message or of a header that is followed by a body.
    ///
    /// - Throws: `malformedMessage` or `noMemory`.
    package mutating func next(at now: UInt64) throws(TransportError) -> Event {
        if let event = finishedBody(at: now) { return event }
        while !staged.isEmpty {
            let run = unsafe UnsafeRawBufferPointer(rebasing: staging[staged])
            let step: FrameMessageDecoder.Step
            do {
                step = try unsafe decoder.decode(Span<UInt8>(_unsafeBytes: run))
            } catch {
                throw TransportError(error)
            }
            if phase == .betweenMessages {
                phase = .header
                startedAt = now
            }
            if case .body = step.event {
                try unsafe append(UnsafeRawBufferPointer(rebasing: run[..<step.consumed]))
            }
            staged = (staged.lowerBound + step.consumed)..<staged.upperBound
            switch step.event {
            case .incomplete, .body:
                break
            case .header(let header):
                if let event = begin(keepsFrames ? .frame(header) : .skipped(.frame)) { return event }
            case .audio(let header):
                let isKept = header.contentLength <= longestAudio
                if let event = begin(isKept ? .audio(header) : .skipped(.audio)) { return event }
            case .skipped:
                if let event = begin(.skipped(.unknown)) { return event }
            case .status(let status):
                endMessage()
                return .status(status)
            case .info(let info):
                endMessage()
                return .info(info)
            case .sharedBuffer(let header):
                endMessage()
                return .sharedBuffer(header)
            case .sharedFrame(let header):
                endMessage()
                return .sharedFrame(header)
            }
            if let event = finishedBody(at: now) { return event }
        }
        return .incomplete
    }

    /// Returns the frame of a ``Event/sharedFrame(_:)`` that is delivered, without its image.
    ///
    /// A frame that is not delivered has no index.
    mutating func takeFrame(_ header: SharedFrameHeader, at now: UInt64) -> Frame {
        frame(header.header, FrameBytes.none, at: now)
    }

    /// Handles the end of the stream.
    ///
    /// - Throws: `malformedMessage` if it is within a message.
    package mutating func finish() throws(TransportError) {
        do {
            try decoder.finish()
        } catch {
            throw TransportError(error)
        }
    }

    // MARK: Reading

    /// Returns memory for at most `limit` bytes that no message begins with.
    func scratch(_ limit: Int) -> MemoryRun { unsafe MemoryRun(rebasing: staging[..<min(limit, staging.count)]) }

    /// Returns the memory for the next bytes: at most `limit` bytes of the body, and the staging area after them.
    ///
    /// - Throws: `noMemory`.
    mutating func targets(limit: Int) throws(TransportError) -> (MemoryRun, MemoryRun) {
        try makeRoom(for: 1)
        let rest = decoder.bodyRemaining
        let target = unsafe body?.freeRun(limit: min(rest, limit)) ?? .empty
        if let body, body.capacity == 0, rest > 0 {
            // There was no memory for what is discarded: it is read over the staging area, piece by piece.
            return unsafe (MemoryRun(rebasing: staging[..<min(rest, limit, staging.count)]), .empty)
        }
        // While the body does not fit yet, further bytes belong to it and not to the staging area.
        let isAllThere = target.count == rest || body == nil
        return unsafe (target, isAllThere ? staging : .empty)
    }

    /// Records the number of bytes read into the memory from ``targets(limit:)``.
    mutating func didRead(_ count: Int, into first: Int) {
        let direct = min(count, first)
        if message?.keptByteCount != nil { body?.advance(by: direct) }
        _ = decoder.consumeBody(direct)
        staged = 0..<(count - direct)
    }

    // MARK: Bodies

    /// Starts a message whose header has arrived; returns an event if its body must be admitted.
    private mutating func begin(_ message: Message) -> Event? {
        self.message = message
        let length = decoder.bodyRemaining
        phase = .body(length: length)
        guard message.keptByteCount != nil else {
            if length > 0 { body = FrameBytes(capacity: min(length, Self.firstCapacity), pool: pool) }
            return nil
        }
        return .body(byteCount: length)
    }

    /// Whether the body in progress belongs to a frame.
    var isAtFrame: Bool {
        if case .frame? = message { true } else { false }
    }

    /// Skips the frame whose body has not been admitted yet; returns false if there is none.
    mutating func skipPendingFrame() -> Bool {
        guard case .frame? = message, body == nil else { return false }
        _ = begin(.skipped(.frame))
        return true
    }

    /// Returns the message if its body is complete.
    private mutating func finishedBody(at now: UInt64) -> Event? {
        guard let message, decoder.bodyRemaining == 0 else { return nil }
        if message.keptByteCount != nil, body == nil { return nil }
        self.message = nil
        endMessage()
        switch (message, body.take()) {
        case (.frame(let header), let jpeg?): return .frame(frame(header, jpeg, at: now))
        case (.audio(let header), let samples?): return .audio(AudioMessage(header, samples: samples))
        case (.skipped(let what), _): return .skipped(what)
        default: return .skipped(.unknown)
        }
    }

    private mutating func endMessage() {
        phase = .betweenMessages
        messages += 1
    }

    private mutating func frame(_ header: FrameHeader, _ jpeg: FrameBytes, at now: UInt64) -> Frame {
        defer { frames += 1 }
        largestBody = max(largestBody, jpeg.count)
        return Frame(
            .jpeg(jpeg),
            header: header,
            index: frames,
            receivedAt: now,
            transferTime: now &- startedAt,
            tally: tally
        )
    }

    /// Copies the bytes of a body that arrived with its header.
    private mutating func append(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        guard message?.keptByteCount != nil else { return }
        try makeRoom(for: bytes.count)
        unsafe body?.append(bytes)
    }

    /// Makes room in the body for `count` more bytes, or at least for some.
    ///
    /// - Throws: `noMemory`.
    private mutating func makeRoom(for count: Int) throws(TransportError) {
        guard let body, let length = message?.keptByteCount, body.capacity < body.count + count else { return }
        body.grow(to: min(length, max(body.capacity * 2, body.count + count)))
        guard body.capacity < body.count + count else { return }
        throw TransportError(.noMemory, "not enough memory for a body of \(length) bytes")
    }
}
