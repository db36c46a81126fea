extension FrameHead {
    /// The bytes, 237, that hold every head, whatever its numbers.
    public static let maximumEncodedByteCount = 237

    /// The bytes that ``encode(into:)`` appends for this head.
    public var encodedByteCount: Int {
        var count = Self.statusLine.utf8.count + 2
        forEachField { field, value in count += field.name.utf8.count + 4 + Self.digitCount(value) }
        return count
    }

    /// Appends the head as it stands on the wire, from the status line to the blank line.
    ///
    /// The fields stand in the order in which deployed senders set them, then ours where they are set. Nothing is
    /// allocated. A negative number is written as 0.
    ///
    /// - Returns: false, with nothing appended, where `output` has no room for ``encodedByteCount`` bytes; room for
    ///   ``maximumEncodedByteCount`` always does.
    @discardableResult
    public func encode(into output: inout OutputSpan<UInt8>) -> Bool {
        guard output.freeCapacity >= encodedByteCount else { return false }
        Self.append(Self.statusLine, to: &output)
        Self.append(.contentLength, UInt64(clamping: contentLength), to: &output)
        Self.append(.width, UInt64(clamping: bufferSize.width), to: &output)
        Self.append(.height, UInt64(clamping: bufferSize.height), to: &output)
        Self.append(.orientation, UInt64(orientation.rawValue), to: &output)
        if let presentationTime { Self.append(.presentationTime, presentationTime, to: &output) }
        if let sequence { Self.append(.sequence, sequence, to: &output) }
        Self.append("\r\n", to: &output)
        return true
    }

    /// Returns the head as it stands on the wire.
    public func encoded() -> [UInt8] {
        [UInt8](capacity: encodedByteCount) { output in _ = encode(into: &output) }
    }

    private static let statusLine = "HTTP/1.1 200 OK\r\n"

    private func forEachField(_ body: (FrameField, UInt64) -> Void) {
        body(.contentLength, UInt64(clamping: contentLength))
        body(.width, UInt64(clamping: bufferSize.width))
        body(.height, UInt64(clamping: bufferSize.height))
        body(.orientation, UInt64(orientation.rawValue))
        if let presentationTime { body(.presentationTime, presentationTime) }
        if let sequence { body(.sequence, sequence) }
    }

    private static func append(_ field: FrameField, _ value: UInt64, to output: inout OutputSpan<UInt8>) {
        append(field.name, to: &output)
        append(": ", to: &output)
        var divisor: UInt64 = 1
        for _ in 1..<digitCount(value) { divisor *= 10 }
        while divisor > 0 {
            output.append(ASCII.zero + UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
        append("\r\n", to: &output)
    }

    private static func append(_ text: String, to output: inout OutputSpan<UInt8>) {
        for byte in text.utf8 { output.append(byte) }
    }

    private static func digitCount(_ value: UInt64) -> Int {
        var count = 1
        var rest = value / 10
        while rest > 0 {
            count += 1
            rest /= 10
        }
        return count
    }
}
