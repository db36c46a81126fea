extension WireError.Code {
    /// What went wrong, as the beginning of a sentence that ends in "at byte N".
    var explanation: String {
        switch self {
        case .startLineMalformed: "Not the beginning of a message (HTTP/1.1 200 OK)"
        case .startLineVersion: "Not the version of a message (HTTP/1.1 or HTTP/1.0, then one space)"
        case .startLineStatus: "Not the status of a frame (200, then a space or the line's end)"
        case .startLineReason: "A reason phrase that is not printable ASCII"
        case .headTooLong: "A head longer than the limit"
        case .headTooManyFields: "More fields in a head than the limit"
        case .headTruncated: "The stream ended within a head"
        case .lineBareLineFeed: "A line feed without a carriage return before it"
        case .lineBareCarriageReturn: "A carriage return without a line feed after it"
        case .fieldFolded: "A line that begins with white space"
        case .fieldEmptyName: "A field without a name"
        case .fieldInvalidName: "A byte that a field's name may not have"
        case .fieldSpaceBeforeColon: "White space between a field's name and its colon"
        case .fieldNoColon: "A line without a colon"
        case .fieldInvalidValue: "A control byte in a field's value"
        case .fieldDuplicate: "A field that occurs twice"
        case .fieldUnsupported: "A field that frames the body in another way than Content-Length"
        case .fieldMissing: "A head that ends without a required field"
        case .numberEmpty: "A number without digits"
        case .numberInvalid: "A number with something else than decimal digits"
        case .numberLeadingZero: "A number with a leading zero"
        case .numberOverflow: "A number over 18446744073709551615"
        case .contentLengthTooLarge: "A body longer than the limit"
        case .dimensionZero: "A width or height of 0"
        case .dimensionTooLarge: "A width or height over the limit"
        case .pixelsTooMany: "More pixels than the limit"
        case .orientationOutOfRange: "An orientation over 8"
        case .bodyTruncated: "The stream ended within a body"
        default: "The stream is wrong"
        }
    }
}
