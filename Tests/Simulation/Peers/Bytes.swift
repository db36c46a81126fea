internal import FrameWire

/// What scripted peers write.
enum WireBytes {
    static let unknownWithoutBody = message("Content-Length: 0\r\nMessage-Type: later\r\n")
    static let unknownOfOneByte = message("Content-Length: 1\r\nMessage-Type: later\r\n") + [0]
    static let status = SenderStatus(state: .live).encoded()
    static let audio =
        AudioHeader(contentLength: 4, kind: .app, sampleRate: 48_000, channels: 2).encoded() + [0, 0, 0, 0]
    static let emptyFrame =
        message("Content-Length: 0\r\nBuffer-Width: 1\r\nBuffer-Height: 1\r\nBuffer-Orientation: 0\r\n")
    static let oversizeClaim =
        message("Content-Length: 4000000000\r\nBuffer-Width: 1\r\nBuffer-Height: 1\r\nBuffer-Orientation: 0\r\n")
    static let unknownRequest = Array("POST /later HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc".utf8)
    static let badPreference = Array("POST /prefer HTTP/1.1\r\nContent-Length: 0\r\nPrefer-Quality: 101\r\n\r\n".utf8)
    static let endlessHeader = Array("HTTP/1.1 200 OK\r\n".utf8) + Array("X: 1\r\n".utf8)
    static let endlessRequest = Array("POST /hello HTTP/1.1\r\n".utf8) + Array("X: 1\r\n".utf8)
    static let garbage = Array("GET / HTTP/1.1\r\nHost: screen\r\n\r\n".utf8)

    private static func message(_ fields: String) -> [UInt8] {
        Array("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8)
    }

    /// The header of a frame of so many bytes.
    static func frameHeader(length: Int, sequence: UInt64? = nil) -> [UInt8] {
        FrameHeader(
            contentLength: length,
            info: FrameInfo(bufferSize: BufferSize(width: 64, height: 64), sequence: sequence)
        ).encoded()
    }
}
