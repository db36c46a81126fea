package import FrameWire

/// Assembles messages from the bytes of one stream: the decoder, and the memory that bodies are read into.
///
/// A read goes directly into the message's own memory, and past its end into a small staging area, which receives the
/// next header, so that one call reads the rest of a body and the next header together. Only the part of a body that
/// arrives with its header is copied.
@safe package struct FrameAssembler: ~Copyable {
    package typealias Message = FrameMessageDecoder.Message

    package enum Event {
        /// A complete message; the body is nil if there is none, or if it is not wanted and was skipped by its length.
        case message(Message, FrameBytes?)
        /// The header of a body to keep, which is read after a call of ``admitBody()``; see ``pendingBody``.
        case body
        /// More bytes are needed.
        case incomplete
    }

    /// The position of the stream within a message; deadlines depend on it.
    package enum Phase: Sendable, Hashable {
        case betweenMessages
        case header
        case body(length: Int)
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
    /// The message whose body is being read, and the length of the body; nil if that is discarded.
    private var message: (kind: Message, keptByteCount: Int?)?
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

    /// The length of a body whose header has come, and which has not been admitted.
    var pendingBody: Int? { body == nil ? message?.keptByteCount : nil }

    /// Whether ``next(at:)`` has an event before more is read.
    package var hasMore: Bool { !staged.isEmpty || (message != nil && decoder.bodyRemaining == 0) }

    /// Whether a part of a message has been read.
    var isWithinMessage: Bool { phase != .betweenMessages || !staged.isEmpty }

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
        try makeRoom(for: min(length, max(1, staged.count)))
        unsafe body?.append(takeStagedBody())
    }

    /// Decodes the bytes read, up to the end of a message or of a header that is followed by a body.
    ///
    /// - Throws: `malformedMessage` or `noMemory`.
    package mutating func next(at now: UInt64) throws(TransportError) -> Event {
        if let event = finishedBody() { return event }
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
            staged = (staged.lowerBound + step.consumed)..<staged.upperBound
            if case .message(let message) = step.event, let event = begin(message) { return event }
            if let event = finishedBody() { return event }
        }
        return .incomplete
    }

    /// Returns the frame that is delivered for a message; `jpeg` is empty if its image is in a shared buffer.
    ///
    /// A frame that is not delivered has no index.
    mutating func takeFrame(_ header: FrameHeader, _ jpeg: FrameBytes, at now: UInt64) -> Frame {
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

    /// Starts a message whose header has arrived.
    ///
    /// - Returns: The message if it has no body, or its body if that is kept, which must be admitted first.
    private mutating func begin(_ message: Message) -> Event? {
        let isKept: Bool
        switch message {
        case .frame: isKept = keepsFrames
        case .audio(let header): isKept = header.contentLength <= longestAudio
        case .unknown: isKept = false
        case .status, .info, .sharedBuffer, .sharedFrame:
            endMessage()
            return .message(message, nil)
        }
        let length = decoder.bodyRemaining
        phase = .body(length: length)
        guard isKept else {
            skipBody(of: message)
            return nil
        }
        self.message = (message, length)
        return .body
    }

    private mutating func skipBody(of message: Message) {
        self.message = (message, nil)
        _ = unsafe takeStagedBody()
        let rest = decoder.bodyRemaining
        if rest > 0 { body = FrameBytes(capacity: min(rest, Self.firstCapacity), pool: pool) }
    }

    /// Takes the bytes of a body that have arrived with its header.
    private mutating func takeStagedBody() -> UnsafeRawBufferPointer {
        let part = staged.prefix(decoder.bodyRemaining)
        _ = decoder.consumeBody(part.count)
        staged = part.upperBound..<staged.upperBound
        return unsafe UnsafeRawBufferPointer(rebasing: staging[part])
    }

    /// Whether the body in progress is not wanted.
    var isSkipping: Bool {
        if case (_, nil)? = message { true } else { false }
    }

    /// Whether the body in progress belongs to a frame.
    var isAtFrame: Bool {
        if case .frame? = message?.kind { true } else { false }
    }

    /// Skips the frame whose body has not been admitted yet; returns false if there is none.
    mutating func skipPendingFrame() -> Bool {
        guard case (.frame(let header), _?)? = message, body == nil else { return false }
        skipBody(of: .frame(header))
        return true
    }

    /// Returns the message if its body is complete.
    private mutating func finishedBody() -> Event? {
        guard decoder.bodyRemaining == 0, pendingBody == nil, let message = message.take() else { return nil }
        endMessage()
        let body = body.take()
        return .message(message.kind, message.keptByteCount == nil ? nil : body)
    }

    private mutating func endMessage() {
        phase = .betweenMessages
        messages += 1
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
