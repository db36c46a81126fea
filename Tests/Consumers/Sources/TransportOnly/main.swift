import FrameTransport

// Bytes from one end of a socket to the other; what they mean is nobody's business here.
let path = CommandLine.arguments[1]
let bytes = [UInt8](repeating: 7, count: 20_000)

let server = try FrameServer(at: path)
let connection = SocketConnection(path: path)
try await connection.open(within: .seconds(10))
try await connection.send(
    FrameMessage(jpeg: FrameBytes(bytes), info: .init(bufferSize: .init(width: 4, height: 2)))
)
connection.close()

for try await sender in server.connections {
    for try await frame in sender.frames {
        let jpeg = frame.jpeg?.array() ?? []
        print("frame of \(jpeg.count) bytes, \(jpeg == bytes ? "as sent" : "changed")")
    }
    print(try await sender.closed())
    break
}
server.close()
try await server.closed()
