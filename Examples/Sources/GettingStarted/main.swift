import FrameSocket

let server = try FrameServer(at: "/tmp/first-frame")
let uploader = SampleUploader(connection: SocketConnection(path: "/tmp/first-frame"))
try await server.run { connection in
    uploader.send(try PixelBuffer(width: 640, height: 360, format: .bgra, zeroFilled: true))
    for try await frame in connection.frames {
        let image = try FrameDecoder().decode(frame, as: .bgra).image
        print("a frame of \(image.width)x\(image.height), in \(frame.jpeg?.count ?? 0) bytes")
        server.close()
    }
}
