internal import ErrorShape

/// An error that makes a stream unreadable: what is wrong, and at which byte; or a value that may not be written to one.
///
/// Decoding cannot continue after it: where the next message would begin is unknown.
public struct WireError: Error, Sendable, Hashable {
    /// The kind of error.
    public let code: Code

    /// The offset of the first wrong byte in the stream, starting at 0; nil for a value that a program sets.
    ///
    /// If the stream ended too early, this is its length.
    public let byteOffset: UInt64?

    /// The line up to and including the wrong byte, the name of a missing field, the byte counts received and expected,
    /// or what is wrong with a value that a program sets.
    ///
    /// The text is printable ASCII: other bytes are escaped (`\r`, `\x85`), and long lines are truncated.
    public let detail: String

    /// Creates an error for the byte at `byteOffset`.
    package init(code: Code, byteOffset: UInt64, detail: String) {
        self.code = code
        self.byteOffset = byteOffset
        self.detail = detail
    }

    /// Creates an error of a value that a program sets.
    init(_ code: Code, _ detail: String) {
        (self.code, byteOffset, self.detail) = (code, nil, detail)
    }

    /// What is wrong, followed by ``detail``.
    public var message: String { "\(code.explanation): \(detail)" }

    /// The `errno` of the failed system call; always nil, because this module makes none.
    public var underlyingErrno: Int32? { nil }
}

extension WireError: DescribedError {}

extension WireError: CustomStringConvertible {
    /// The message and the byte offset, in one line.
    public var description: String { summary }
}

/// What is wrong with a header at the current byte; the caller knows the byte's position in the stream.
struct HeaderFault: Error {
    let code: WireError.Code

    /// The detail to report instead of the line up to the wrong byte.
    var detail: String?

    init(_ code: WireError.Code, detail: String? = nil) {
        self.code = code
        self.detail = detail
    }
}
