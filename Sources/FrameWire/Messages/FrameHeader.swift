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

extension FrameHeader: WireMessage {
    /// Returns the header in its wire format.
    public func encoded() -> [UInt8] { HeaderWriter.bytes(write) }

    @inline(__always)
    package mutating func code(with coder: inout some FieldCoder) {
        coder.code(.contentLength, &contentLength)
        info.codeImage(with: &coder)
        info.codeTiming(with: &coder)
    }
}

/// What a message states of its frame, whether the pixels are in its body or in a shared buffer.
public struct FrameInfo: Sendable, Hashable {
    /// The size of the image, which a JPEG may exceed by a pixel: the fields `Buffer-Width` and `Buffer-Height`.
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

    /// Creates the values without checking them; a decoder may reject them.
    public init(
        bufferSize: BufferSize,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil
    ) {
        (self.bufferSize, self.orientation) = (bufferSize, orientation)
        (self.timestamp, self.sequence) = (timestamp, sequence)
    }
}

extension FrameInfo {
    /// Of a message that is about to be read.
    static let unread = Self(bufferSize: BufferSize(width: 0, height: 0), orientation: .unknown)

    /// The fields of the image, which come first in existing senders.
    @inline(__always)
    mutating func codeImage(with coder: inout some FieldCoder) {
        coder.code(.width, &bufferSize.width)
        coder.code(.height, &bufferSize.height)
        var number = Int(orientation.rawValue)
        coder.code(.orientation, &number)
        orientation = FrameOrientation(rawValue: UInt8(clamping: number)) ?? .unknown
    }

    /// The fields of the time and the number, which come last.
    @inline(__always)
    mutating func codeTiming(with coder: inout some FieldCoder) {
        coder.code(.timestamp, &timestamp)
        coder.code(.sequence, &sequence)
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
