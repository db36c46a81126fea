/// The upper bounds that a decoder holds a peer to.
///
/// Each is checked before the thing it bounds is stored or acted on, and a value equal to a limit is accepted.
public struct WireLimits: Sendable, Hashable {
    /// The bytes of one head, from its first to the line feed that ends its blank line: 8,192.
    public var maximumHeadBytes = 8_192

    /// The fields of one head, unknown ones included: 32.
    public var maximumFields = 32

    /// The bytes of one body, the value of `Content-Length`: 32 MiB.
    public var maximumContentLength = 32 << 20

    /// The bytes of the body of an audio message: 256 KiB.
    public var maximumAudioBytes = 256 << 10

    /// The pixels of one side of a picture: 16,384.
    public var maximumDimension = 16_384

    /// The pixels of a picture, its width times its height: 2^25.
    public var maximumPixels = 1 << 25

    /// Creates the default limits.
    public init() {}
}
