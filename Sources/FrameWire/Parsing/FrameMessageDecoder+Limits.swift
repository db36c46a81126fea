extension FrameMessageDecoder {
    /// The upper bounds that a decoder enforces on a peer.
    ///
    /// Each limit is checked before the data it bounds is stored or acted on. A value equal to a limit is accepted.
    public struct Limits: Sendable, Hashable {
        /// The maximum size of a header in bytes, including the line feed that ends its blank line: 8,192.
        public var maximumHeaderBytes = 8_192

        /// The maximum number of fields in a header, including unknown ones: 32.
        public var maximumFields = 32

        /// The maximum length of a body in bytes, the value of `Content-Length`: 32 MiB.
        public var maximumContentLength = 32 << 20

        /// The maximum length of an audio message's body in bytes: 256 KiB.
        public var maximumAudioBytes = 256 << 10

        /// The maximum width and height of an image in pixels: 16,384.
        public var maximumDimension = 16_384

        /// The maximum number of pixels of an image, its width times its height: 2^25.
        public var maximumPixels = 1 << 25

        /// Creates the default limits.
        public init() {}
    }
}

/// The upper bounds that a ``ControlDecoder`` enforces on a receiver.
///
/// Each limit is checked before the data it bounds is stored or acted on. A value equal to a limit is accepted.
package struct ControlLimits: Sendable, Hashable {
    /// The maximum size of a header in bytes, including the line feed that ends its blank line: 2,048.
    package var maximumHeaderBytes = 2_048

    /// The maximum number of fields in a header, including unknown ones: 16.
    package var maximumFields = 16

    /// The maximum length of a body in bytes, the value of `Content-Length`: 4,096.
    package var maximumContentLength = 4_096

    /// Creates the default limits.
    package init() {}
}
