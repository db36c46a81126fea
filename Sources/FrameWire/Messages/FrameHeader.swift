/// The header of a frame: the length of its body, and the image in it.
public struct FrameHeader: Sendable, Hashable {
    /// The length of the body in bytes, including padding: the field `Content-Length`.
    public var contentLength: Int

    /// The size of the image, which the JPEG may exceed by a pixel: the fields `Buffer-Width` and `Buffer-Height`.
    public var bufferSize: BufferSize

    /// The orientation of the image: the field `Buffer-Orientation`.
    public var orientation: FrameOrientation

    /// The presentation time of the frame, in nanoseconds of the sender's clock: `Buffer-Presentation-Time`.
    ///
    /// This field is specific to this project, and existing Jitsi peers skip it; nil omits it.
    public var timestamp: UInt64?

    /// The sequence number of the frame, counted by the sender: `Buffer-Sequence`.
    ///
    /// This field is specific to this project, and existing Jitsi peers skip it; nil omits it.
    public var sequence: UInt64?

    /// Creates a header without checking the values; a decoder may reject them.
    public init(
        contentLength: Int,
        bufferSize: BufferSize,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil
    ) {
        self.contentLength = contentLength
        self.bufferSize = bufferSize
        self.orientation = orientation
        self.timestamp = timestamp
        self.sequence = sequence
    }
}

extension FrameHeader {
    /// The number of bytes, 237, that is enough for every header, whatever its numbers.
    public static let maximumEncodedByteCount = 237

    /// The number of bytes that ``encode(into:)`` appends for this header.
    public var encodedByteCount: Int { HeaderWriter.count(of: write) }

    /// Appends the header in its wire format, from the status line to the blank line.
    ///
    /// The fields have the order in which existing Jitsi senders write them, followed by this project's own fields if they
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

/// The size of an image in pixels, as stated in the fields `Buffer-Width` and `Buffer-Height`.
///
/// The JPEG in the body may be one pixel wider or taller: existing Jitsi senders round the size in the fields down and the
/// size of the image up.
public struct BufferSize: Sendable, Hashable {
    /// The number of pixels in a row.
    public var width: Int

    /// The number of rows.
    public var height: Int

    /// Creates a size of `width` by `height` pixels without checking the values.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}

/// The padding of short bodies that protects existing Jitsi receivers from freezing.
///
/// Those receivers read up to 10,240 bytes at a time until they have a header, and consider a message complete only
/// when exactly its body has arrived. A read that includes even one byte of the next message therefore freezes them
/// permanently. The read that completes the header cannot go past the end of a body of at least 10,240 bytes. Shorter
/// bodies are followed by zero bytes, which `Content-Length` counts and which every JPEG decoder ignores after the end
/// of the image.
package enum FramePadding {
    /// The body length in bytes, 10,240, from which a message needs no padding.
    package static let minimumBodyByteCount = 10_240

    /// Returns the number of zero bytes to write after a body of `bodyByteCount` bytes; 0 if it is long enough.
    ///
    /// `Content-Length` is the sum of both. A negative count is treated as 0.
    package static func byteCount(forBodyOf bodyByteCount: Int) -> Int {
        bodyByteCount >= minimumBodyByteCount ? 0 : minimumBodyByteCount - max(bodyByteCount, 0)
    }
}
