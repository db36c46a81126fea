extension WireError {
    /// What is wrong with a stream, as a stable text that programs may compare and print.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The stable text, such as `head.tooLong`.
        public let rawValue: String

        /// Creates the code with a text, for what a layer above finds wrong with the bytes.
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
    /// `startLine.malformed`: a message does not begin with `HTTP/`.
    public static let startLineMalformed = Self(rawValue: "startLine.malformed")
    /// `startLine.version`: the version is neither `1.1` nor `1.0`, or no single space follows it.
    public static let startLineVersion = Self(rawValue: "startLine.version")
    /// `startLine.status`: the status is not exactly `200`, or neither a space nor the line's end follows it.
    public static let startLineStatus = Self(rawValue: "startLine.status")
    /// `startLine.reason`: the reason phrase begins with a space or has a byte that is not printable ASCII.
    public static let startLineReason = Self(rawValue: "startLine.reason")

    /// `requestLine.method`: a request does not begin with `POST /`.
    public static let requestLineMethod = Self(rawValue: "requestLine.method")
    /// `requestLine.target`: a byte in a request's name that is not printable ASCII.
    public static let requestLineTarget = Self(rawValue: "requestLine.target")
    /// `requestLine.version`: a request line does not end with a space and `HTTP/1.1`.
    public static let requestLineVersion = Self(rawValue: "requestLine.version")

    /// `head.tooLong`: the head has more bytes than ``WireLimits/maximumHeadBytes``.
    public static let headTooLong = Self(rawValue: "head.tooLong")
    /// `head.tooManyFields`: the head has more fields than ``WireLimits/maximumFields``.
    public static let headTooManyFields = Self(rawValue: "head.tooManyFields")
    /// `head.truncated`: the stream ended within a head.
    public static let headTruncated = Self(rawValue: "head.truncated")

    /// `line.bareLineFeed`: a line feed without a carriage return before it.
    public static let lineBareLineFeed = Self(rawValue: "line.bareLineFeed")
    /// `line.bareCarriageReturn`: a carriage return without a line feed after it.
    public static let lineBareCarriageReturn = Self(rawValue: "line.bareCarriageReturn")

    /// `field.folded`: a line begins with white space.
    public static let fieldFolded = Self(rawValue: "field.folded")
    /// `field.emptyName`: a line begins with a colon.
    public static let fieldEmptyName = Self(rawValue: "field.emptyName")
    /// `field.invalidName`: a name has a byte that RFC 9110 does not allow in a token.
    public static let fieldInvalidName = Self(rawValue: "field.invalidName")
    /// `field.spaceBeforeColon`: white space between a name and its colon.
    public static let fieldSpaceBeforeColon = Self(rawValue: "field.spaceBeforeColon")
    /// `field.noColon`: a line ended before a colon.
    public static let fieldNoColon = Self(rawValue: "field.noColon")
    /// `field.invalidValue`: a value has a control byte: NUL, BEL, DEL and the like.
    public static let fieldInvalidValue = Self(rawValue: "field.invalidValue")
    /// `field.duplicate`: a field that this wire gives a meaning occurs twice.
    public static let fieldDuplicate = Self(rawValue: "field.duplicate")
    /// `field.unsupported`: `Transfer-Encoding`, which would frame the body in another way.
    public static let fieldUnsupported = Self(rawValue: "field.unsupported")
    /// `field.missing`: the head ended without a field that it needs, named in the detail.
    public static let fieldMissing = Self(rawValue: "field.missing")

    /// `number.empty`: a field that must be a number has no value.
    public static let numberEmpty = Self(rawValue: "number.empty")
    /// `number.invalid`: a field that must be a number has something else than ASCII digits.
    public static let numberInvalid = Self(rawValue: "number.invalid")
    /// `number.leadingZero`: a number of several digits begins with 0.
    public static let numberLeadingZero = Self(rawValue: "number.leadingZero")
    /// `number.overflow`: a time, a sequence number or a ping's number is over 2^64 - 1.
    public static let numberOverflow = Self(rawValue: "number.overflow")
    /// `number.outOfRange`: a number is not among those that its field may have.
    public static let numberOutOfRange = Self(rawValue: "number.outOfRange")

    /// `word.empty`: a field that must be a word has no value.
    public static let wordEmpty = Self(rawValue: "word.empty")
    /// `word.invalid`: a field that must be a word has more than one, or a byte that RFC 9110 does not allow in a token.
    public static let wordInvalid = Self(rawValue: "word.invalid")
    /// `word.tooLong`: a word has more than 32 bytes.
    public static let wordTooLong = Self(rawValue: "word.tooLong")
    /// `word.unknown`: a word is not among those that its field may have.
    public static let wordUnknown = Self(rawValue: "word.unknown")

    /// `contentLength.tooLarge`: the body is longer than the limit for its kind of message.
    public static let contentLengthTooLarge = Self(rawValue: "contentLength.tooLarge")
    /// `contentLength.invalid`: sound that is no whole number of samples for each channel, or a status with a body.
    public static let contentLengthInvalid = Self(rawValue: "contentLength.invalid")
    /// `dimension.zero`: a width or height of 0.
    public static let dimensionZero = Self(rawValue: "dimension.zero")
    /// `dimension.tooLarge`: a width or height over ``WireLimits/maximumDimension``.
    public static let dimensionTooLarge = Self(rawValue: "dimension.tooLarge")
    /// `pixels.tooMany`: width times height is over ``WireLimits/maximumPixels``.
    public static let pixelsTooMany = Self(rawValue: "pixels.tooMany")
    /// `orientation.outOfRange`: an orientation over 8.
    public static let orientationOutOfRange = Self(rawValue: "orientation.outOfRange")

    /// `finishReason.unknown`: the code of no ``FinishReason``.
    public static let finishReasonUnknown = Self(rawValue: "finishReason.unknown")

    /// `body.truncated`: the stream ended within a body; the detail says how many bytes came and how many were due.
    public static let bodyTruncated = Self(rawValue: "body.truncated")
}
