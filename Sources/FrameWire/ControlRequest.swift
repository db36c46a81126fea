/// A request from a receiver to its sender, sent on the same connection as the frames in the opposite direction.
///
/// No request requires an answer: deployed senders read and discard them.
public enum ControlRequest: Sendable, Hashable {
    /// `hello`: who the receiver is and what it wants; answered with a ``SenderStatus``, as later requests may be.
    case hello(Hello)
    /// `pause`: send neither frames nor audio.
    case pause
    /// `resume`: send again.
    case resume
    /// `stop`: end the session, for the reason in the field `Finish-Reason`.
    case stop(FinishReason)
    /// `prefer`: the preferred frame rate, size and quality.
    case prefer(Preferences)
    /// `refresh`: send a frame now, even if nothing has changed.
    case refresh
    /// `ping`: answer with this number, in the field `Ping-Number`.
    case ping(UInt64)
    /// `release`: the sender may use this shared buffer again, whose index is in the field `Shared-Buffer`.
    case release(buffer: Int)
    /// `decline`: send no further frames in shared memory on this connection; every shared buffer is released.
    case decline

    /// The name in the request line, such as `hello`.
    public var name: String {
        switch self {
        case .hello: "hello"
        case .pause: "pause"
        case .resume: "resume"
        case .stop: "stop"
        case .prefer: "prefer"
        case .refresh: "refresh"
        case .ping: "ping"
        case .release: "release"
        case .decline: "decline"
        }
    }
}

extension ControlRequest {
    /// The number of bytes that ``encode(into:)`` appends for this request.
    public var encodedByteCount: Int { HeaderWriter.count(of: write) }

    /// Appends the request in its wire format, from the request line to the blank line; it has no body.
    ///
    /// A negative number is written as 0. Whether a decoder accepts the other values is not checked.
    ///
    /// - Returns: false, with nothing appended, if `output` has no room for ``encodedByteCount`` bytes.
    @discardableResult
    public func encode(into output: inout OutputSpan<UInt8>) -> Bool { HeaderWriter.append(to: &output, write) }

    /// Returns the request in its wire format.
    public func encoded() -> [UInt8] {
        [UInt8](capacity: encodedByteCount) { output in _ = encode(into: &output) }
    }

    private func write(to writer: inout HeaderWriter) {
        switch self {
        case .hello(let hello):
            writer.appendRequest("hello")
            writer.append("\r\nControl-Version: ", UInt64(clamping: hello.version))
            writer.append("\r\nWants-Pictures: ", hello.wants.contains(.frames) ? 1 : 0)
            writer.append("\r\nWants-Audio: ", hello.wants.contains(.audio) ? 1 : 0)
            if let version = hello.sharedMemory { writer.append("\r\nShared-Memory: ", UInt64(clamping: version)) }
        case .pause: writer.appendRequest("pause")
        case .resume: writer.appendRequest("resume")
        case .stop(let reason):
            writer.appendRequest("stop")
            writer.append("\r\nFinish-Reason: ", UInt64(clamping: reason.rawValue))
        case .prefer(let preferences):
            writer.appendRequest("prefer")
            preferences.write(to: &writer)
        case .refresh: writer.appendRequest("refresh")
        case .ping(let number):
            writer.appendRequest("ping")
            writer.append("\r\nPing-Number: ", number)
        case .release(let buffer):
            writer.appendRequest("release")
            writer.append("\r\nShared-Buffer: ", UInt64(clamping: buffer))
        case .decline: writer.appendRequest("decline")
        }
        writer.append("\r\n\r\n")
    }
}

extension ControlRequest.Preferences {
    fileprivate func write(to writer: inout HeaderWriter) {
        if let rate = frameRateInMillihertz { writer.append("\r\nPrefer-Frame-Rate: ", UInt64(clamping: rate)) }
        if let size {
            writer.append("\r\nPrefer-Width: ", UInt64(clamping: size.width))
            writer.append("\r\nPrefer-Height: ", UInt64(clamping: size.height))
        }
        if let quality { writer.append("\r\nPrefer-Quality: ", UInt64(clamping: quality)) }
    }
}

extension HeaderWriter {
    fileprivate mutating func appendRequest(_ name: StaticString) {
        append("POST /")
        append(name)
        append(" HTTP/1.1\r\nContent-Length: 0")
    }
}
