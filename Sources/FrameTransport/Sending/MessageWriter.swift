internal import FrameWire

/// Writes one message at a time to a socket, head, body and padding in one call, and goes on where the socket was full.
@safe struct MessageWriter: ~Copyable {
    private let head: MemoryRun
    private var headCount = 0
    private var body: FrameBytes?
    private var padding = 0
    private var written = 0

    /// Zero bytes to pad short bodies with, shared by all writers and never written to.
    ///
    /// - Note: `nonisolated(unsafe)` holds because nobody writes to it after it is made.
    private nonisolated(unsafe) static let zeroes: MemoryRun = {
        let run = MemoryRun.allocate(byteCount: FramePadding.minimumBodyByteCount, alignment: 16)
        unsafe run.initializeMemory(as: UInt8.self, repeating: 0)
        return unsafe run
    }()

    init() {
        unsafe head = .allocate(byteCount: FrameHead.maximumEncodedByteCount, alignment: 16)
    }

    deinit {
        unsafe head.deallocate()
    }

    /// Whether a message is under way.
    var isWriting: Bool { body != nil }

    /// How many bytes of the message have been written.
    var progress: Int { written }

    /// How many bytes the message has.
    var messageByteCount: Int { headCount + (body?.count ?? 0) + padding }

    /// Takes up a message; no other is under way.
    mutating func begin(_ message: FrameMessage, isPadded: Bool) {
        padding = isPadded ? FramePadding.byteCount(forBodyOf: message.jpeg.count) : 0
        let head = FrameHead(
            contentLength: message.jpeg.count + padding,
            bufferSize: message.bufferSize,
            orientation: message.orientation,
            presentationTime: message.timestamp,
            sequence: message.sequence
        )
        let memory = unsafe self.head.bindMemory(to: UInt8.self)
        var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
        head.encode(into: &output)
        headCount = unsafe output.finalize(for: memory)
        body = message.jpeg
        written = 0
    }

    /// Forgets the message that is under way.
    mutating func abandon() {
        body = nil
    }

    /// Writes as much as the socket takes; true when the message is out.
    mutating func write(to socket: Int32) throws(Errno) -> Bool {
        guard let body else { return true }
        let bodyStart = max(0, written - headCount)
        let paddingStart = max(0, bodyStart - body.count)
        let runs = unsafe (
            MemoryRun(rebasing: head[min(written, headCount)..<headCount]),
            body.run(from: bodyStart),
            MemoryRun(rebasing: Self.zeroes[paddingStart..<max(paddingStart, padding)])
        )
        let transfer = try unsafe Syscalls.send(to: socket, runs.0, runs.1, runs.2)
        guard case .bytes(let count, _) = transfer else { return false }
        written += count
        // A short count says that the socket is full: it reports when it has room again, so there is no need to ask now.
        guard written == messageByteCount else { return false }
        self.body = nil
        return true
    }
}
