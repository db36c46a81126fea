/// What the receivers in the field do with the bytes that they read, their fault included.
///
/// They read up to 10,240 bytes until they have a head, then at most what is missing; a message is complete when exactly
/// its body has arrived. One that was given more never completes, and everything after it is added to it.
struct DeployedReceiver {
    static let maximumRead = 10_240

    /// The bodies of the messages that were completed.
    private(set) var bodies: [[UInt8]] = []
    private var message: [UInt8] = []

    /// How much it would read next.
    var readLimit: Int {
        guard let missing, missing > 0 else { return Self.maximumRead }
        return min(missing, Self.maximumRead)
    }

    /// Takes what one read has brought.
    mutating func append(_ bytes: [UInt8]) {
        message += bytes
        guard missing == 0, let start = bodyStart else { return }
        bodies.append(Array(message[start...]))
        message = []
    }

    private var bodyStart: Int? {
        let end = Array("\r\n\r\n".utf8)
        return message.indices.dropLast(3).first { message[$0..<$0 + 4].elementsEqual(end) }.map { $0 + 4 }
    }

    /// How many bytes of the body are missing, below 0 if there are too many; nil if the header is not complete.
    private var missing: Int? {
        guard let bodyStart else { return nil }
        let header = String(decoding: message[..<bodyStart], as: UTF8.self)
        let line = header.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
        return line.flatMap { Int($0.dropFirst(16)) }.map { $0 - (message.count - bodyStart) }
    }
}
