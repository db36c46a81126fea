import FrameSocket

// An image is encoded, sent, received and decoded.
let path = CommandLine.arguments[1]
var image = try PixelBuffer(width: 562, height: 1218, format: .bgra)
for y in 0..<image.height {
    try image.withMutableRow(y) { row in
        for index in row.indices { row[index] = UInt8(truncatingIfNeeded: index / 16 + y / 8) }
    }
}

let server = try FrameServer(at: path)
let connection = SocketConnection(path: path)
try await connection.open(within: .seconds(10))
let uploader = SampleUploader(connection: connection, configuration: .init(quality: 90))
print(uploader.send(image, orientation: .right))
try await uploader.finish()
connection.close()

let decoder = FrameDecoder()
for try await sender in server.connections {
    for try await frame in sender.frames {
        let received = try decoder.decode(frame, as: .bgra).image
        let quality = try received.peakSignalToNoiseRatio(against: image)
        print("\(received.width)x\(received.height), \(frame.orientation), \(quality > 38 ? "over" : "under") 38 dB")
    }
    break
}
server.close()
try await server.closed()
