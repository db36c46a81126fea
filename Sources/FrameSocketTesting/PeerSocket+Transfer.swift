internal import FrameTransport

extension PeerSocket {
    /// Writes all bytes.
    ///
    /// - Parameters:
    ///   - bytes: What is written.
    ///   - chunk: The most bytes of one system call: 1 writes byte by byte.
    ///   - interval: The time between two calls; without one the next follows at once.
    /// - Throws: `system` with `EPIPE` or `ECONNRESET` if the other end has gone.
    public func write(
        _ bytes: [UInt8],
        chunk: Int = .max,
        every interval: Duration? = nil
    ) async throws(PeerError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(max(1, chunk))
            let count = try await whenReady(for: SocketEvents.writable) { descriptor throws(PeerError) in
                try SocketCalls.send(descriptor, piece)
            }
            rest = rest.dropFirst(count)
            if let interval, !rest.isEmpty { try await Self.pause(for: interval) }
        }
    }

    /// Writes bytes again and again, until the other end has gone or so many have been written, and returns how many were;
    /// what was begun when the other end went is not counted.
    @discardableResult
    public func flood(_ bytes: [UInt8], upTo limit: Int = .max) async throws(PeerError) -> Int {
        var written = 0
        while !bytes.isEmpty, written < limit {
            do {
                try await write(Array(bytes.prefix(limit - written)))
            } catch {
                guard let cause = error.underlyingErrno.map({ Errno($0) }), [.brokenPipe, .reset].contains(cause) else {
                    throw error
                }
                return written
            }
            written += min(bytes.count, limit - written)
            // A program that reads as fast as this would never let the task's thread go.
            await Task.yield()
        }
        return written
    }

    /// Reads what is there, or waits until something is, and returns at most `limit` bytes; none if the other end has ended.
    ///
    /// - Throws: `system` with `ECONNRESET` if the other end has reset the connection.
    public func readSome(upTo limit: Int) async throws(PeerError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: max(1, min(limit, 1 << 20)))
        let count = try await whenReady(for: SocketEvents.readable) { descriptor throws(PeerError) in
            try SocketCalls.receive(descriptor, into: &buffer, upTo: buffer.count)
        }
        return Array(buffer.prefix(count))
    }

    /// Reads `count` bytes, or fewer if the other end ends before: also by a reset, which is how an end looks that left bytes unread.
    public func read(_ count: Int) async throws(PeerError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let piece: [UInt8]
            do {
                piece = try await readSome(upTo: min(count - bytes.count, 1 << 16))
            } catch {
                guard error.underlyingErrno == Errno.reset.rawValue else { throw error }
                break
            }
            guard !piece.isEmpty else { break }
            bytes += piece
        }
        return bytes
    }

    /// Whether nothing is there to read, the end included.
    public var isQuiet: Bool {
        let isReady = try? call { descriptor throws(PeerError) in
            try SocketCalls.poll(descriptor, for: SocketEvents.readable, timeout: 0)
        }
        return isReady != true
    }

    /// Waits until the other end has ended its writing or closed, and reads nothing.
    public func otherEndEnded() async throws(PeerError) {
        try await wait(for: SocketEvents.ended)
    }
}
