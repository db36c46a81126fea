/// A message of the wire, or a request, as it crosses the socket: a header and a body.
///
/// The code that writes and reads it is separate from the library's, and takes everything at face value: a test may write
/// any nonsense, and see what arrives.
public struct PeerMessage: Sendable, Hashable {
    /// What ends a header.
    static let emptyLine = Array("\r\n\r\n".utf8)

    /// The lines before the body, with the empty line that ends them.
    public var header: String
    /// The bytes after the header.
    public var body: [UInt8]

    /// Creates a message from a header, which is used as it is and must include its empty line, and a body.
    public init(header: String, body: [UInt8] = []) {
        (self.header, self.body) = (header, body)
    }

    /// Creates a message from a start line, fields and a body, whose length becomes the first field, `Content-Length`.
    public init(startLine: String, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        let lines = [startLine, "Content-Length: \(body.count)"] + fields.map { "\($0.name): \($0.value)" }
        self.init(header: lines.joined(separator: "\r\n") + "\r\n\r\n", body: body)
    }

    /// The bytes that cross the socket.
    public var bytes: [UInt8] { Array(header.utf8) + body }

    /// Returns a frame as existing Jitsi senders write it, with a presentation time and a number if they are given.
    public static func frame(
        _ jpeg: [UInt8],
        width: Int,
        height: Int,
        orientation: Int = 1,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil
    ) -> PeerMessage {
        var fields = [
            (name: "Buffer-Width", value: "\(width)"), (name: "Buffer-Height", value: "\(height)"),
            (name: "Buffer-Orientation", value: "\(orientation)"),
        ]
        if let timestamp { fields.append((name: "Buffer-Presentation-Time", value: "\(timestamp)")) }
        if let sequence { fields.append((name: "Buffer-Sequence", value: "\(sequence)")) }
        return PeerMessage(startLine: "HTTP/1.1 200 OK", fields: fields, body: jpeg)
    }

    /// Returns a request of a receiver, such as `hello` or `pause`.
    public static func request(_ name: String, _ fields: [(name: String, value: String)] = []) -> PeerMessage {
        PeerMessage(startLine: "POST /\(name) HTTP/1.1", fields: fields)
    }

    /// Returns the value of a field, whose name is compared without regard to case.
    public func field(_ name: String) -> String? {
        for line in header.split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { continue }
            let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
            return String(parts[1].drop(while: isSpace).reversed().drop(while: isSpace).reversed())
        }
        return nil
    }

    /// Returns the number that a field states.
    func number<Number: FixedWidthInteger>(_ name: String) -> Number? { field(name).flatMap { Number($0) } }

    /// The name of a request, or nil if it is not one.
    package var requestName: String? {
        let words = header.prefix { $0 != "\r\n" }.split(separator: " ")
        guard words.count == 3, words[0] == "POST", words[1].hasPrefix("/") else { return nil }
        return String(words[1].dropFirst())
    }

    /// Whether it is a frame, and neither a request, nor audio, nor a status.
    public var isFrame: Bool { requestName == nil && field("Message-Type") == nil }

    /// The presentation time that it states, in nanoseconds.
    public var timestamp: UInt64? { number("Buffer-Presentation-Time") }

    /// The number that it states.
    public var sequence: UInt64? { number("Buffer-Sequence") }

    /// The width that it states, in pixels.
    public var width: Int? { number("Buffer-Width") }

    /// The height that it states, in pixels.
    public var height: Int? { number("Buffer-Height") }

    /// The number of the ping that it answers.
    public var pong: UInt64? { number("Pong-Number") }

    /// What the sender says that it does: `live`, `paused` or `stopped`.
    public var state: String? { field("Sender-State") }
}
