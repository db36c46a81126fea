/// The header of a frame: the length of its body, and the image in it.
///
/// The properties of ``info`` can be used directly: `header.bufferSize`.
@dynamicMemberLookup
public struct FrameHeader: Sendable, Hashable {
    /// The length of the body in bytes, including padding: the field `Content-Length`.
    public var contentLength: Int

    // The last property, because it does not fill its last word: what is stored beside a header has room there.
    /// What the header states of the frame.
    public var info: FrameInfo

    /// Creates a header without checking the values; a decoder may reject them.
    public init(contentLength: Int, info: FrameInfo) {
        (self.contentLength, self.info) = (contentLength, info)
    }

    /// A property of ``info``.
    @inlinable
    public subscript<Value>(dynamicMember property: WritableKeyPath<FrameInfo, Value>) -> Value {
        get { info[keyPath: property] }
        set { info[keyPath: property] = newValue }
    }
}

extension FrameHeader {
    /// Appends the header in its wire format, from the status line to the blank line.
    ///
    /// The fields have the order in which existing Jitsi senders write them, followed by this project's own fields if they
    /// are set. Nothing is allocated. A negative number is written as 0. Whether a decoder accepts the other values is
    /// not checked.
    ///
    /// - Returns: false, with nothing appended, if `output` has no room for it.
    @discardableResult
    package func encode(into output: inout OutputSpan<UInt8>) -> Bool { HeaderWriter.append(to: &output, write) }

    /// Returns the header in its wire format.
    public func encoded() -> [UInt8] { HeaderWriter.bytes(write) }

    private func write(to writer: inout HeaderWriter) {
        writer.append("HTTP/1.1 200 OK\r\nContent-Length: ", UInt64(clamping: contentLength))
        info.writeImage(to: &writer)
        info.writeTiming(to: &writer)
        writer.append("\r\n\r\n")
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
