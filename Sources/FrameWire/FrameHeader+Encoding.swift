extension FrameHeader {
    /// The number of bytes, 237, that is enough for every header, whatever its numbers.
    public static let maximumEncodedByteCount = 237

    /// The number of bytes that ``encode(into:)`` appends for this header.
    public var encodedByteCount: Int {
        var writer = HeaderWriter()
        write(to: &writer)
        return writer.count
    }

    /// Appends the header in its wire format, from the status line to the blank line.
    ///
    /// The fields have the order in which deployed senders write them, followed by this project's own fields if they
    /// are set. Nothing is allocated. A negative number is written as 0. Whether a decoder accepts the other values is
    /// not checked.
    ///
    /// - Returns: false, with nothing appended, if `output` has no room for ``encodedByteCount`` bytes; room for
    ///   ``maximumEncodedByteCount`` is always enough.
    @discardableResult
    public func encode(into output: inout OutputSpan<UInt8>) -> Bool {
        guard output.freeCapacity >= Self.maximumEncodedByteCount || output.freeCapacity >= encodedByteCount else {
            return false
        }
        unsafe output.withUnsafeMutableBufferPointer { buffer, count in
            var writer = unsafe HeaderWriter(buffer: buffer, count: count)
            write(to: &writer)
            count = writer.count
        }
        return true
    }

    /// Returns the header in its wire format.
    public func encoded() -> [UInt8] {
        [UInt8](capacity: encodedByteCount) { output in _ = encode(into: &output) }
    }

    private func write(to writer: inout HeaderWriter) {
        writer.append("HTTP/1.1 200 OK\r\nContent-Length: ", UInt64(clamping: contentLength))
        writer.append("\r\nBuffer-Width: ", UInt64(clamping: bufferSize.width))
        writer.append("\r\nBuffer-Height: ", UInt64(clamping: bufferSize.height))
        writer.append("\r\nBuffer-Orientation: ", UInt64(orientation.rawValue))
        if let timestamp { writer.append("\r\nBuffer-Presentation-Time: ", timestamp) }
        if let sequence { writer.append("\r\nBuffer-Sequence: ", sequence) }
        writer.append("\r\n\r\n")
    }
}
