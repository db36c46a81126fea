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

extension WireError {
    /// The kind of error in a stream, as a stable text that programs can compare and print.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The stable text, such as `head.tooLong`.
        public let rawValue: String

        /// Creates a code from its text, for errors that a higher layer finds in the bytes.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }
    }
}

extension WireError.Code: CustomStringConvertible {
    /// The stable text.
    public var description: String { rawValue }
}

extension WireError.Code {
    /// `startLine.malformed`: The first line of a message is not `HTTP/1.1 200` or `HTTP/1.0 200`, with any printable
    /// reason or none.
    package static let startLineMalformed = Self(rawValue: "startLine.malformed")
    /// `requestLine.malformed`: The first line of a request is not `POST /<name> HTTP/1.1`.
    package static let requestLineMalformed = Self(rawValue: "requestLine.malformed")

    /// `head.tooLong`: The header has more bytes than ``FrameMessageDecoder/Limits/maximumHeaderBytes``.
    package static let headTooLong = Self(rawValue: "head.tooLong")
    /// `head.tooManyFields`: The header has more fields than ``FrameMessageDecoder/Limits/maximumFields``.
    package static let headTooManyFields = Self(rawValue: "head.tooManyFields")
    /// `head.truncated`: The stream ended within a header.
    package static let headTruncated = Self(rawValue: "head.truncated")

    /// `line.malformed`: A line is not a name, a colon and a value without control bytes, or does not end with a carriage
    /// return and a line feed.
    package static let lineMalformed = Self(rawValue: "line.malformed")

    /// `field.duplicate`: A field that has a meaning on this wire occurs twice.
    package static let fieldDuplicate = Self(rawValue: "field.duplicate")
    /// `field.unsupported`: The header has `Transfer-Encoding`, which would frame the body in another way.
    package static let fieldUnsupported = Self(rawValue: "field.unsupported")
    /// `field.missing`: The header ended without a required field, which the detail names.
    package static let fieldMissing = Self(rawValue: "field.missing")

    /// `number.invalid`: A field that must be a number contains something other than ASCII digits, a leading zero, or
    /// nothing.
    package static let numberInvalid = Self(rawValue: "number.invalid")
    /// `number.outOfRange`: A number is not in the range of its field, or is a width or height over
    /// ``FrameMessageDecoder/Limits/maximumDimension``.
    package static let numberOutOfRange = Self(rawValue: "number.outOfRange")

    /// `word.invalid`: A field that must be a word has several, none, one of more than 32 bytes, or a byte that RFC 9110
    /// does not allow in a token.
    package static let wordInvalid = Self(rawValue: "word.invalid")
    /// `word.unknown`: A word is not one that its field may have.
    package static let wordUnknown = Self(rawValue: "word.unknown")

    /// `contentLength.tooLarge`: The body is longer than the limit for its kind of message.
    package static let contentLengthTooLarge = Self(rawValue: "contentLength.tooLarge")
    /// `contentLength.invalid`: Audio is not a whole number of samples for each channel, or a status or a message about
    /// shared memory has a body.
    package static let contentLengthInvalid = Self(rawValue: "contentLength.invalid")
    /// `pixels.tooMany`: The width times the height is over ``FrameMessageDecoder/Limits/maximumPixels``.
    package static let pixelsTooMany = Self(rawValue: "pixels.tooMany")

    /// `info.invalid`: Values are not as ``ControlRequest/SessionInfo`` allows them.
    package static let infoInvalid = Self(rawValue: "info.invalid")

    /// `body.truncated`: The stream ended within a body; the detail states the byte counts received and expected.
    package static let bodyTruncated = Self(rawValue: "body.truncated")

    /// A description of the error, as the beginning of ``WireError/message``.
    var explanation: String {
        switch self {
        case .startLineMalformed: "Not the start of a message (HTTP/1.1 200 OK)"
        case .requestLineMalformed: "Not the start of a request (POST /<name> HTTP/1.1)"
        case .headTooLong: "Header longer than the limit"
        case .headTooManyFields: "More header fields than the limit"
        case .headTruncated: "Stream ended within a header"
        case .lineMalformed: "Malformed header line (expected a name, a colon, a value, CR and LF)"
        case .fieldDuplicate: "Duplicate field"
        case .fieldUnsupported: "Field that frames the body other than by Content-Length"
        case .fieldMissing: "Required field missing"
        case .numberInvalid: "Value is not a plain decimal number"
        case .numberOutOfRange: "Number out of range for its field"
        case .wordInvalid: "Value is not a single word of at most 32 bytes"
        case .wordUnknown: "Unknown word for its field"
        case .contentLengthTooLarge: "Body longer than the limit"
        case .contentLengthInvalid: "Invalid body length for this kind of message"
        case .pixelsTooMany: "More pixels than the limit"
        case .infoInvalid: "Invalid value, or more values than the limit"
        case .bodyTruncated: "Stream ended within a body"
        default: "Invalid stream"
        }
    }
}
