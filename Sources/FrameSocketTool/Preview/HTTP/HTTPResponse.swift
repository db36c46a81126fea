import FrameSocket

/// What a client is answered.
struct HTTPResponse: Sendable {
    /// What follows the head.
    enum Body: Sendable {
        case bytes([UInt8])
        case frame(FrameBytes)
        /// What goes on until its source ends it, or the client leaves.
        case stream(HTTPStream)
    }

    var status: UInt32
    var fields: [(name: String, value: String)]
    var body: Body

    /// An answer of one piece.
    init(status: UInt32 = 200, type: String, body: Body) {
        self.status = status
        fields = [("Content-Type", type)]
        self.body = body
    }

    /// A sentence for a person.
    init(status: UInt32, _ sentence: String) {
        self.init(status: status, type: "text/plain; charset=utf-8", body: .bytes(Array((sentence + "\n").utf8)))
    }

    /// Adds a field.
    func adding(_ name: String, _ value: String) -> Self {
        var response = self
        response.fields.append((name, value))
        return response
    }
}
