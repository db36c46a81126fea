public import FrameWire

/// A frame to send: what its header states, and a JPEG.
///
/// The properties of ``info`` can be used directly: `message.timestamp`. A value behind one reference, since it is passed
/// on many times.
@dynamicMemberLookup
public struct FrameMessage: Sendable {
    package indirect enum Content: Sendable {
        case jpeg(FrameBytes, FrameInfo)
        /// The pixels are in memory that the receiver gets: nothing is written to it until the receiver has released it.
        case shared(SharedFrameHeader, SharedSource)
    }

    /// Where the pixels of a frame in shared memory are.
    package struct SharedSource: Sendable {
        /// The memory.
        package let memory: SharedMemory
        /// Whether the receiver does not have the memory yet, and is passed its descriptor.
        package let isNew: Bool
        /// The uploader that the buffer belongs to.
        package let owner: UInt64
    }

    package private(set) var content: Content

    /// Creates a message with `jpeg` as its body.
    public init(jpeg: FrameBytes, info: FrameInfo) {
        content = .jpeg(jpeg, info)
    }

    /// Creates the message for pixels in shared memory.
    package init(_ header: SharedFrameHeader, in memory: SharedMemory, isNew: Bool, owner: UInt64 = 0) {
        content = .shared(header, SharedSource(memory: memory, isNew: isNew, owner: owner))
    }

    /// The JPEG.
    public var jpeg: FrameBytes {
        // Only this package makes messages of the other kind, and knows which is which.
        if case .jpeg(let jpeg, _) = content { jpeg } else { FrameBytes([]) }
    }

    /// What the header states of the frame.
    public var info: FrameInfo {
        get {
            switch content {
            case .jpeg(_, let info): info
            case .shared(let header, _): header.info
            }
        }
        set {
            switch content {
            case .jpeg(let jpeg, _):
                content = .jpeg(jpeg, newValue)
            case .shared(var header, let source):
                header.info = newValue
                content = .shared(header, source)
            }
        }
    }

    /// A property of ``info``.
    public subscript<Value>(dynamicMember property: WritableKeyPath<FrameInfo, Value>) -> Value {
        get { info[keyPath: property] }
        set { info[keyPath: property] = newValue }
    }

    /// Where the pixels are, if they are in shared memory.
    package var shared: SharedSource? {
        if case .shared(_, let source) = content { source } else { nil }
    }
}

/// Encodes one message at a time, and tracks how much of it has been written.
///
/// It writes nothing itself: it returns the rest of the message as runs of memory, and is told how many bytes were
/// accepted.
@safe package struct MessageWriter: ~Copyable {
    /// The rest of a message: three runs of memory, to be written one after the other.
    package typealias Runs = (header: MemoryRun, body: MemoryRun, padding: MemoryRun)

    private let header: MemoryRun
    private var headerCount = 0
    private var body: FrameBytes?
    private var padding = 0
    private var written = 0
    /// The memory to pass with the first byte.
    private var memory: SharedMemory?

    /// Whether a message is in progress.
    private(set) var isWriting = false

    /// Zero bytes to pad short bodies with, shared by all writers and never written to.
    ///
    /// - Note: `nonisolated(unsafe)` holds because nothing writes to it after initialization.
    private nonisolated(unsafe) static let zeroes: MemoryRun = {
        let run = MemoryRun.allocate(byteCount: FramePadding.minimumBodyByteCount, alignment: 16)
        unsafe run.initializeMemory(as: UInt8.self, repeating: 0)
        return unsafe run
    }()

    /// The longest header of any kind, with room to spare.
    private static let headerCapacity = 1024

    init() {
        unsafe header = .allocate(byteCount: Self.headerCapacity, alignment: 16)
    }

    deinit {
        unsafe header.deallocate()
    }

    /// The number of bytes of the message that have been written.
    var progress: Int { isWriting ? written : 0 }

    /// The length of the message in bytes.
    var messageByteCount: Int { headerCount + (body?.count ?? 0) + padding }

    /// The memory whose descriptor is to be passed with the next byte; nil for none.
    var passed: SharedMemory? { isWriting && written == 0 ? memory : nil }

    /// Begins a frame; no other message may be in progress.
    ///
    /// A frame in shared memory is preceded by the announcement of its buffer if that is new.
    mutating func begin(_ message: FrameMessage, padsShortBodies: Bool) {
        switch message.content {
        case .jpeg(let jpeg, let info):
            let padding = padsShortBodies ? FramePadding.byteCount(forBodyOf: jpeg.count) : 0
            let header = FrameHeader(contentLength: jpeg.count + padding, info: info)
            begin(body: jpeg, padding: padding) { header.encode(into: &$0) }
        case .shared(let header, let source):
            begin(body: nil) { output in
                if source.isNew {
                    _ = SharedFrameHeader.Buffer(index: header.buffer, byteCount: source.memory.byteCount)
                        .encode(into: &output)
                }
                return header.encode(into: &output)
            }
            if source.isNew { memory = source.memory }
        }
    }

    /// Begins an audio message; no other message may be in progress.
    mutating func begin(_ audio: AudioBlock) {
        let header = audio.header
        begin(body: audio.bytes) { header.encode(into: &$0) }
    }

    /// Begins a status; no other message may be in progress.
    mutating func begin(_ status: SenderStatus) {
        begin(body: nil) { status.encode(into: &$0) }
    }

    /// Begins an info; no other message may be in progress.
    mutating func begin(_ info: ControlRequest.SessionInfo) {
        let body = info.body
        begin(body: FrameBytes(body)) { info.encodeHeader(bodyByteCount: body.count, into: &$0) }
    }

    private mutating func begin(body: FrameBytes?, padding: Int = 0, header: (inout OutputSpan<UInt8>) -> Bool) {
        self.body = body
        self.padding = padding
        written = 0
        isWriting = true
        writeHeader(header)
    }

    private mutating func writeHeader(_ encode: (inout OutputSpan<UInt8>) -> Bool) {
        let memory = unsafe header.bindMemory(to: UInt8.self)
        var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
        _ = encode(&output)
        headerCount = unsafe output.finalize(for: memory)
    }

    /// Discards the message in progress.
    mutating func abandon() {
        body = nil
        memory = nil
        isWriting = false
    }

    /// The rest of the message; valid until the message ends.
    var runs: Runs {
        let bodyCount = body?.count ?? 0
        let bodyStart = max(0, written - headerCount)
        let paddingStart = max(0, bodyStart - bodyCount)
        return unsafe (
            MemoryRun(rebasing: header[min(written, headerCount)..<headerCount]),
            body?.run(from: bodyStart) ?? .empty,
            MemoryRun(rebasing: Self.zeroes[min(paddingStart, padding)..<padding])
        )
    }

    /// Records that `count` more bytes have been written, and returns whether the message is complete.
    mutating func advance(by count: Int) -> Bool {
        written += count
        guard written >= messageByteCount else { return false }
        abandon()
        return true
    }
}
