import Foundation
import FrameTransport

// ReceiveJPEGs SOCKET DIRECTORY [COUNT]: writes each frame of each sender to a file, until there are COUNT files.
let arguments = CommandLine.arguments.dropFirst()
guard arguments.count >= 2 else {
    print("usage: ReceiveJPEGs SOCKET DIRECTORY [COUNT]")
    exit(64)
}
let directory = URL(filePath: arguments[2])
let limit = arguments.dropFirst(2).first.flatMap { Int($0) } ?? .max
try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)

// The socket's file has mode 0600, and is removed when the server closes.
let server = try FrameServer(at: arguments[1])
print("listening at \(server.path)")

var count = 0
senders: for try await connection in server.connections {
    print("sender \(connection.id): process \(connection.peer?.processID ?? 0)")
    do {
        for try await frame in connection.frames {
            let file = directory.appending(path: "sender\(connection.id)-\(frame.index).jpg")
            // While this writes, one more frame is read ahead; then the sender has to wait, and drops late frames.
            guard let jpeg = frame.jpeg else { continue }
            try Data(jpeg.array()).write(to: file)
            count += 1
            if count == limit { break senders }
        }
        print("sender \(connection.id): \(try await connection.closed())")
    } catch let error as TransportError {
        // The sender or the socket failed; the next sender is served all the same.
        print("sender \(connection.id): \(error)")
    }
}
server.close()
try await server.closed()
print("\(count) frames in \(directory.path())")
