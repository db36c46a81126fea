extension SharedFrameHeader {
    /// The announcement of a buffer in shared memory, whose descriptor arrives with the first byte of the message.
    ///
    /// A sender writes such messages only to a receiver whose hello accepts shared memory; see
    /// ``ControlRequest/Hello/sharedMemory``. The message has no body.
    public struct Buffer: Sendable, Hashable {
        /// The indices that a message can state: 0 to 7.
        package static let indices = 0...7

        /// The sizes that a message can state, in bytes: 1 to 2^30.
        package static let byteCounts = 1...(1 << 30)

        /// The offsets of planes that a message can state, in bytes: 0 to 2^30.
        static let offsets = 0...(1 << 30)

        /// The buffer's index, by which frames refer to it: the field `Shared-Buffer`.
        package var index: Int

        /// The size of the memory in bytes: the field `Shared-Bytes`.
        package var byteCount: Int

        /// Creates an announcement without checking the values; a decoder may reject them.
        package init(index: Int, byteCount: Int) {
            (self.index, self.byteCount) = (index, byteCount)
        }
    }
}

extension SharedFrameHeader.Buffer {
    /// Appends the message in its wire format, from the status line to the blank line; it has no body.
    ///
    /// A negative number is written as 0. Whether a decoder accepts the other values is not checked.
    ///
    /// - Returns: false, with nothing appended, if `output` has no room for it.
    @discardableResult
    package func encode(into output: inout OutputSpan<UInt8>) -> Bool { HeaderWriter.append(to: &output, write) }

    /// Returns the message in its wire format.
    package func encoded() -> [UInt8] { HeaderWriter.bytes(write) }

    private func write(to writer: inout HeaderWriter) {
        writer.append("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nMessage-Type: shared-buffer")
        writer.append("\r\nShared-Buffer: ", UInt64(clamping: index))
        writer.append("\r\nShared-Bytes: ", UInt64(clamping: byteCount))
        writer.append("\r\n\r\n")
    }
}
