/// What the byte just judged makes wrong with a head; who feeds the bytes knows where in the stream it stands.
struct HeadFault: Error {
    let code: WireError.Code

    /// What a person should see instead of the line up to the wrong byte.
    var detail: String?

    init(_ code: WireError.Code, detail: String? = nil) {
        self.code = code
        self.detail = detail
    }
}
