import FrameSocket

/// The answer to a request.
struct HTTPResponse: Sendable {
    /// What follows the header.
    enum Body: Sendable {
        case bytes([UInt8])
        case frame(FrameBytes)
        /// A stream that goes on until its source ends it or the client leaves.
        case stream(HTTPStream)
    }

    var status: UInt32
    var fields: [(name: String, value: String)]
    var body: Body
    /// Called once the answer has been sent, or cannot be.
    var finished: (@Sendable () -> Void)?

    /// Creates an answer with a body of known length.
    init(status: UInt32 = 200, type: String, body: Body) {
        self.status = status
        fields = [("Content-Type", type)]
        self.body = body
    }

    /// Creates an answer with a sentence for a person.
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
