import FrameSocket

let connection = SocketConnection(path: "/tmp/screen")
let uploader = SampleUploader(connection: connection, configuration: .init(quality: 80, scale: .half))
let image = try PixelBuffer(width: 1280, height: 720, format: .bgra, zeroFilled: true)
uploader.send(image, orientation: .up)  // never blocks
try await uploader.finish()  // before the program ends: waits until the frame is sent
connection.close()
