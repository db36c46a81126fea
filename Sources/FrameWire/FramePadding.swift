/// How short bodies are padded so that deployed receivers survive them.
///
/// Those receivers read up to 10,240 bytes at a time until they have a head, and take a message for complete only when
/// exactly its body has arrived. A read that takes in even one byte of the next message therefore freezes them for
/// good. A body of at least 10,240 bytes cannot be overrun by the read that completes its head, so shorter ones are
/// followed by zero bytes, which `Content-Length` counts and which every JPEG decoder ignores after the end of image.
public enum FramePadding {
    /// The bytes of body, 10,240, from which on a message needs no padding.
    public static let minimumBodyByteCount = 10_240

    /// Returns how many zero bytes to write after a body of `bodyByteCount` bytes: 0 where it is long enough.
    ///
    /// `Content-Length` is the sum of both. A negative count is taken as 0.
    public static func byteCount(forBodyOf bodyByteCount: Int) -> Int {
        bodyByteCount >= minimumBodyByteCount ? 0 : minimumBodyByteCount - max(bodyByteCount, 0)
    }
}
