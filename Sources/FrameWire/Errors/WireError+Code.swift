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
    package static let startLineMalformed = Self(rawValue: "startLine.malformed")
    /// `startLine.version`: The version is neither `1.1` nor `1.0`, or is not followed by a single space.
    package static let startLineVersion = Self(rawValue: "startLine.version")
    /// `startLine.status`: The status is not exactly `200`, or is followed by neither a space nor the end of the line.
    package static let startLineStatus = Self(rawValue: "startLine.status")
    /// `startLine.reason`: The reason phrase begins with a space or contains a byte that is not printable ASCII.
    package static let startLineReason = Self(rawValue: "startLine.reason")

    /// `requestLine.method`: A request does not begin with `POST /`.
    package static let requestLineMethod = Self(rawValue: "requestLine.method")
    /// `requestLine.target`: A request's name contains a byte that is not printable ASCII.
    package static let requestLineTarget = Self(rawValue: "requestLine.target")
    /// `requestLine.version`: A request line does not end with a space and `HTTP/1.1`.
    package static let requestLineVersion = Self(rawValue: "requestLine.version")

    /// `head.tooLong`: The header has more bytes than ``FrameMessageDecoder/Limits/maximumHeaderBytes``.
    package static let headTooLong = Self(rawValue: "head.tooLong")
    /// `head.tooManyFields`: The header has more fields than ``FrameMessageDecoder/Limits/maximumFields``.
    package static let headTooManyFields = Self(rawValue: "head.tooManyFields")
    /// `head.truncated`: The stream ended within a header.
    package static let headTruncated = Self(rawValue: "head.truncated")

    /// `line.bareLineFeed`: A line feed does not follow a carriage return.
    package static let lineBareLineFeed = Self(rawValue: "line.bareLineFeed")
    /// `line.bareCarriageReturn`: A carriage return is not followed by a line feed.
    package static let lineBareCarriageReturn = Self(rawValue: "line.bareCarriageReturn")

    /// `field.folded`: A line begins with white space.
    package static let fieldFolded = Self(rawValue: "field.folded")
    /// `field.emptyName`: A line begins with a colon.
    package static let fieldEmptyName = Self(rawValue: "field.emptyName")
    /// `field.invalidName`: A name contains a byte that RFC 9110 does not allow in a token.
    package static let fieldInvalidName = Self(rawValue: "field.invalidName")
    /// `field.spaceBeforeColon`: There is white space between a name and its colon.
    package static let fieldSpaceBeforeColon = Self(rawValue: "field.spaceBeforeColon")
    /// `field.noColon`: A line ended before a colon.
    package static let fieldNoColon = Self(rawValue: "field.noColon")
    /// `field.invalidValue`: A value contains a control byte, such as NUL, BEL or DEL.
    package static let fieldInvalidValue = Self(rawValue: "field.invalidValue")
    /// `field.duplicate`: A field that has a meaning on this wire occurs twice.
    package static let fieldDuplicate = Self(rawValue: "field.duplicate")
    /// `field.unsupported`: The header has `Transfer-Encoding`, which would frame the body in another way.
    package static let fieldUnsupported = Self(rawValue: "field.unsupported")
    /// `field.missing`: The header ended without a required field, which the detail names.
    package static let fieldMissing = Self(rawValue: "field.missing")

    /// `number.empty`: A field that must be a number has no value.
    package static let numberEmpty = Self(rawValue: "number.empty")
    /// `number.invalid`: A field that must be a number contains something other than ASCII digits.
    package static let numberInvalid = Self(rawValue: "number.invalid")
    /// `number.leadingZero`: A number of several digits begins with 0.
    package static let numberLeadingZero = Self(rawValue: "number.leadingZero")
    /// `number.overflow`: A timestamp, a sequence number or a ping's number is over 2^64 - 1.
    package static let numberOverflow = Self(rawValue: "number.overflow")
    /// `number.outOfRange`: A number is not in the range of its field.
    package static let numberOutOfRange = Self(rawValue: "number.outOfRange")

    /// `word.empty`: A field that must be a word has no value.
    package static let wordEmpty = Self(rawValue: "word.empty")
    /// `word.invalid`: A field that must be a word has several, or a byte that RFC 9110 does not allow in a token.
    package static let wordInvalid = Self(rawValue: "word.invalid")
    /// `word.tooLong`: A word has more than 32 bytes.
    package static let wordTooLong = Self(rawValue: "word.tooLong")
    /// `word.unknown`: A word is not one that its field may have.
    package static let wordUnknown = Self(rawValue: "word.unknown")

    /// `contentLength.tooLarge`: The body is longer than the limit for its kind of message.
    package static let contentLengthTooLarge = Self(rawValue: "contentLength.tooLarge")
    /// `contentLength.invalid`: Audio is not a whole number of samples for each channel, or a status or a message about
    /// shared memory has a body.
    package static let contentLengthInvalid = Self(rawValue: "contentLength.invalid")
    /// `dimension.zero`: A width or height is 0.
    package static let dimensionZero = Self(rawValue: "dimension.zero")
    /// `dimension.tooLarge`: A width or height is over ``FrameMessageDecoder/Limits/maximumDimension``.
    package static let dimensionTooLarge = Self(rawValue: "dimension.tooLarge")
    /// `pixels.tooMany`: The width times the height is over ``FrameMessageDecoder/Limits/maximumPixels``.
    package static let pixelsTooMany = Self(rawValue: "pixels.tooMany")
    /// `orientation.outOfRange`: An orientation is over 8.
    package static let orientationOutOfRange = Self(rawValue: "orientation.outOfRange")

    /// `finishReason.unknown`: The code is not one of ``ControlRequest/FinishReason``.
    package static let finishReasonUnknown = Self(rawValue: "finishReason.unknown")

    /// `info.invalid`: Values are not as ``ControlRequest/SessionInfo`` allows them.
    package static let infoInvalid = Self(rawValue: "info.invalid")

    /// `body.truncated`: The stream ended within a body; the detail states the byte counts received and expected.
    package static let bodyTruncated = Self(rawValue: "body.truncated")
}
