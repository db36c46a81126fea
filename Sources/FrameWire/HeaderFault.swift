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
