internal import FrameWire

/// Writes requests to a sender that may not read them: what the socket does not take waits, up to a limit.
struct RequestWriter {
    /// The most bytes that wait.
    ///
    /// A peer that has left so many unread does not listen.
    private static let maximumByteCount = 4096

    private var waiting: [UInt8] = []

    /// Whether there is something that the socket did not take.
    var isWaiting: Bool { !waiting.isEmpty }

    /// Takes up a request, unless too many wait; a request is never cut.
    mutating func add(_ request: ControlRequest) {
        let bytes = request.encoded()
        if waiting.count + bytes.count <= Self.maximumByteCount { waiting += bytes }
    }

    /// Writes as much as the socket takes.
    ///
    /// A failure is left to the reads, which meet it too.
    mutating func write(to socket: Int32) {
        let nothing = unsafe MemoryRun(start: nil, count: 0)
        while !waiting.isEmpty {
            let transfer = unsafe waiting.withUnsafeMutableBytes { bytes in
                try? unsafe Syscalls.send(to: socket, bytes, nothing, nothing)
            }
            guard case .bytes(let count, _)? = transfer else { return }
            waiting.removeFirst(count)
        }
    }
}
