internal import FrameTransport

extension PeerSocket {
    /// Writes all bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - chunk: The maximum number of bytes in one system call: 1 writes byte by byte.
    ///   - interval: The time between two calls; nil for none.
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

    /// Writes the bytes repeatedly, until the other end has gone or `limit` bytes have been written.
    ///
    /// - Returns: The number of bytes written; the repetition during which the other end went is not counted.
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

    /// Reads at most `limit` bytes that have arrived, 1 MiB at most, and waits if there are none; empty if the other end
    /// has ended, or if `limit` is not positive.
    ///
    /// - Throws: `system` with `ECONNRESET` if the other end has reset the connection.
    public func readSome(upTo limit: Int) async throws(PeerError) -> [UInt8] {
        guard limit > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: min(limit, 1 << 20))
        let count = try await whenReady(for: SocketEvents.readable) { descriptor throws(PeerError) in
            try SocketCalls.receive(descriptor, into: &buffer, upTo: buffer.count)
        }
        return Array(buffer.prefix(count))
    }

    /// Reads `count` bytes, or fewer if the other end ends first.
    ///
    /// A reset counts as an end: an end that left bytes unread looks like one.
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

    /// Whether there is nothing to read, not even the end.
    public var isQuiet: Bool {
        let isReady = try? call { descriptor throws(PeerError) in
            try SocketCalls.poll(descriptor, for: SocketEvents.readable, timeout: 0)
        }
        return isReady != true
    }

    /// Waits, without reading, until the other end has finished writing or has closed.
    public func otherEndEnded() async throws(PeerError) {
        try await wait(for: SocketEvents.ended)
    }
}
