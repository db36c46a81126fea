/// The request `release`: the sender may use the shared buffer with this index again.
///
/// It is not a ``ControlRequest``, because a program does not send it: a connection does, when the program has released
/// the last reference to the image in the buffer.
package struct ReleaseRequest: Sendable, Hashable {
    /// The index of the buffer: the field `Shared-Buffer`.
    package let buffer: Int

    /// Creates a release without checking the index.
    package init(buffer: Int) {
        self.buffer = buffer
    }

    /// Returns the request in its wire format; a negative index is written as 0.
    package func encoded() -> [UInt8] { Self.all.indices.contains(buffer) ? Self.all[buffer] : written() }

    private func written() -> [UInt8] {
        [UInt8](capacity: HeaderWriter.count(of: write)) { output in _ = HeaderWriter.append(to: &output, write) }
    }

    private func write(to writer: inout HeaderWriter) {
        writer.appendRequest("release")
        writer.append("\r\nShared-Buffer: ", UInt64(clamping: buffer))
        writer.append("\r\n\r\n")
    }
}

// The one request that a receiver sends for every frame is recognized as a whole, in the form in which this package
// writes it.
extension ReleaseRequest {
    private static let all = SharedFrameHeader.Buffer.indices.map { Self(buffer: $0).written() }
    /// The offset of the buffer's index, the only byte in which they differ.
    private static let offset = all[0].indices.first { all[0][$0] != all[1][$0] } ?? 0
    private static let fieldCount = 2

    /// Returns the release that the bytes begin with, and its length; nil if they begin with anything else.
    static func whole(at bytes: Span<UInt8>, within limits: ControlLimits) -> (Self, Int)? {
        let count = all[0].count
        guard bytes.count >= count, limits.maximumHeaderBytes >= count, limits.maximumFields >= fieldCount else {
            return nil
        }
        let index = Int(bytes[offset]) - Int(ASCII.zero)
        guard all.indices.contains(index) else { return nil }
        let release = all[index]
        for index in 0..<count where bytes[index] != release[index] { return nil }
        return (Self(buffer: index), count)
    }
}
