import FrameSocket

let server = try FrameServer(at: "/tmp/first-frame")
let uploader = SampleUploader(connection: SocketConnection(path: "/tmp/first-frame"))
for try await connection in server.connections {
    uploader.send(try PixelBuffer(width: 640, height: 360, format: .bgra, zeroFilled: true))
    for try await frame in connection.frames {
        let image = try FrameDecoder().decode(frame, as: .bgra)
        print("a frame of \(image.width)x\(image.height), in \(frame.jpeg.count) bytes")
        server.close()
    }
}
