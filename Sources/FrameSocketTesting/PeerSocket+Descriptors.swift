internal import FrameTransport

extension PeerSocket {
    /// Writes all bytes, and passes descriptors with the first one.
    ///
    /// Over TCP the descriptors are not passed. They stay open on this side.
    ///
    /// - Parameters:
    ///   - bytes: The bytes, at least one: a stream carries no descriptor without a byte.
    ///   - descriptors: The descriptors, which are not checked; Linux passes at most 253 at once.
    /// - Throws: `misuse` if there are no bytes; `system` with `EBADF` for a descriptor that is not open, with `EINVAL` for
    ///   too many, and with `EPIPE` or `ECONNRESET` if the other end has gone.
    public func write(_ bytes: [UInt8], passing descriptors: [Int32]) async throws(PeerError) {
        guard !bytes.isEmpty else {
            throw PeerError(.misuse, "descriptors are passed with a byte: there is nothing to write")
        }
        let count = try await whenReady(for: SocketEvents.writable) { descriptor throws(PeerError) in
            try SocketCalls.send(descriptor, bytes[...], passing: descriptors)
        }
        try await write(Array(bytes[count...]))
    }
}
