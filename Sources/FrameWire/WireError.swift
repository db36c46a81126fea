/// Why a stream of bytes is not a stream of messages: what is wrong, and at which byte.
///
/// The stream cannot be read past it: where the next message would begin is unknown.
public struct WireError: Error, Sendable, Hashable {
    /// What is wrong.
    public let code: Code

    /// The first byte at which the stream is wrong, counted from the stream's first byte, 0.
    ///
    /// Where the stream ended too early this is its length.
    public let byteOffset: UInt64

    /// The offending line up to and including the wrong byte, or the name of a missing field, or the bytes got and wanted.
    ///
    /// Printable ASCII: other bytes are escaped (`\r`, `\x85`), long lines are shortened to their beginning.
    public let detail: String

    /// Creates an error for the byte at `byteOffset`.
    public init(code: Code, byteOffset: UInt64, detail: String) {
        self.code = code
        self.byteOffset = byteOffset
        self.detail = detail
    }
}

extension WireError: CustomStringConvertible {
    /// A sentence for a person, with the byte, the offending text and the code.
    public var description: String {
        "\(code.explanation) at byte \(byteOffset): \(detail) (\(code))"
    }
}
