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
    /// `startLine.malformed`: A message does not begin with `HTTP/`.
    public static let startLineMalformed = Self(rawValue: "startLine.malformed")
    /// `startLine.version`: The version is neither `1.1` nor `1.0`, or is not followed by a single space.
    public static let startLineVersion = Self(rawValue: "startLine.version")
    /// `startLine.status`: The status is not exactly `200`, or is followed by neither a space nor the end of the line.
    public static let startLineStatus = Self(rawValue: "startLine.status")
    /// `startLine.reason`: The reason phrase begins with a space or contains a byte that is not printable ASCII.
    public static let startLineReason = Self(rawValue: "startLine.reason")

    /// `requestLine.method`: A request does not begin with `POST /`.
    public static let requestLineMethod = Self(rawValue: "requestLine.method")
    /// `requestLine.target`: A request's name contains a byte that is not printable ASCII.
    public static let requestLineTarget = Self(rawValue: "requestLine.target")
    /// `requestLine.version`: A request line does not end with a space and `HTTP/1.1`.
    public static let requestLineVersion = Self(rawValue: "requestLine.version")

    /// `head.tooLong`: The header has more bytes than ``FrameMessageDecoder/Limits/maximumHeaderBytes``.
    public static let headTooLong = Self(rawValue: "head.tooLong")
    /// `head.tooManyFields`: The header has more fields than ``FrameMessageDecoder/Limits/maximumFields``.
    public static let headTooManyFields = Self(rawValue: "head.tooManyFields")
    /// `head.truncated`: The stream ended within a header.
    public static let headTruncated = Self(rawValue: "head.truncated")

    /// `line.bareLineFeed`: A line feed does not follow a carriage return.
    public static let lineBareLineFeed = Self(rawValue: "line.bareLineFeed")
    /// `line.bareCarriageReturn`: A carriage return is not followed by a line feed.
    public static let lineBareCarriageReturn = Self(rawValue: "line.bareCarriageReturn")

    /// `field.folded`: A line begins with white space.
    public static let fieldFolded = Self(rawValue: "field.folded")
    /// `field.emptyName`: A line begins with a colon.
    public static let fieldEmptyName = Self(rawValue: "field.emptyName")
    /// `field.invalidName`: A name contains a byte that RFC 9110 does not allow in a token.
    public static let fieldInvalidName = Self(rawValue: "field.invalidName")
    /// `field.spaceBeforeColon`: There is white space between a name and its colon.
    public static let fieldSpaceBeforeColon = Self(rawValue: "field.spaceBeforeColon")
    /// `field.noColon`: A line ended before a colon.
    public static let fieldNoColon = Self(rawValue: "field.noColon")
    /// `field.invalidValue`: A value contains a control byte, such as NUL, BEL or DEL.
    public static let fieldInvalidValue = Self(rawValue: "field.invalidValue")
    /// `field.duplicate`: A field that has a meaning on this wire occurs twice.
    public static let fieldDuplicate = Self(rawValue: "field.duplicate")
    /// `field.unsupported`: The header has `Transfer-Encoding`, which would frame the body in another way.
    public static let fieldUnsupported = Self(rawValue: "field.unsupported")
    /// `field.missing`: The header ended without a required field, which the detail names.
    public static let fieldMissing = Self(rawValue: "field.missing")

    /// `number.empty`: A field that must be a number has no value.
    public static let numberEmpty = Self(rawValue: "number.empty")
    /// `number.invalid`: A field that must be a number contains something other than ASCII digits.
    public static let numberInvalid = Self(rawValue: "number.invalid")
    /// `number.leadingZero`: A number of several digits begins with 0.
    public static let numberLeadingZero = Self(rawValue: "number.leadingZero")
    /// `number.overflow`: A timestamp, a sequence number or a ping's number is over 2^64 - 1.
    public static let numberOverflow = Self(rawValue: "number.overflow")
    /// `number.outOfRange`: A number is not in the range of its field.
    public static let numberOutOfRange = Self(rawValue: "number.outOfRange")

    /// `word.empty`: A field that must be a word has no value.
    public static let wordEmpty = Self(rawValue: "word.empty")
    /// `word.invalid`: A field that must be a word has several, or a byte that RFC 9110 does not allow in a token.
    public static let wordInvalid = Self(rawValue: "word.invalid")
    /// `word.tooLong`: A word has more than 32 bytes.
    public static let wordTooLong = Self(rawValue: "word.tooLong")
    /// `word.unknown`: A word is not one that its field may have.
    public static let wordUnknown = Self(rawValue: "word.unknown")

    /// `contentLength.tooLarge`: The body is longer than the limit for its kind of message.
    public static let contentLengthTooLarge = Self(rawValue: "contentLength.tooLarge")
    /// `contentLength.invalid`: Audio is not a whole number of samples for each channel, or a status or a message about
    /// shared memory has a body.
    public static let contentLengthInvalid = Self(rawValue: "contentLength.invalid")
    /// `dimension.zero`: A width or height is 0.
    public static let dimensionZero = Self(rawValue: "dimension.zero")
    /// `dimension.tooLarge`: A width or height is over ``FrameMessageDecoder/Limits/maximumDimension``.
    public static let dimensionTooLarge = Self(rawValue: "dimension.tooLarge")
    /// `pixels.tooMany`: The width times the height is over ``FrameMessageDecoder/Limits/maximumPixels``.
    public static let pixelsTooMany = Self(rawValue: "pixels.tooMany")
    /// `orientation.outOfRange`: An orientation is over 8.
    public static let orientationOutOfRange = Self(rawValue: "orientation.outOfRange")

    /// `finishReason.unknown`: The code is not one of ``ControlRequest/FinishReason``.
    public static let finishReasonUnknown = Self(rawValue: "finishReason.unknown")

    /// `info.invalid`: Values are not as ``ControlRequest/SessionInfo`` allows them.
    public static let infoInvalid = Self(rawValue: "info.invalid")

    /// `body.truncated`: The stream ended within a body; the detail states the byte counts received and expected.
    public static let bodyTruncated = Self(rawValue: "body.truncated")
}
