import FrameSocketJitsi

// What FrameSocketJitsi has on every system.
let connection = SocketConnection(filePath: CommandLine.arguments[1])
let uploader = connection.map(SampleUploader.init(connection:))
print(connection?.open() == false ? "no app listens" : "an app listens")
print(DarwinNotification.broadcastStarted.rawValue)
connection?.close()
