/// The padding of short bodies that protects deployed receivers from freezing.
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
