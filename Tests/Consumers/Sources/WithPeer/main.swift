import FrameSocketTesting
import FrameTransport

// A program's own peer: what an existing Jitsi sender wrote, in pieces, and then an end within a frame.
let path = CommandLine.arguments[1]
let stream = RecordedStream.cutInBody
let server = try FrameServer(at: path)
let peer = try PeerSocket.connected(to: path)
try await peer.write(stream.bytes, chunk: 1000)
peer.close()

for try await sender in server.connections {
    do {
        for try await frame in sender.frames {
            let jpeg = frame.jpeg?.array() ?? []
            let isAsSent = stream.bodies.contains(jpeg)
            print("frame of \(jpeg.count) bytes, \(isAsSent ? "as sent" : "changed")")
        }
    } catch {
        print(error.code)
    }
    break
}
do {
    _ = try await peer.read(1)
} catch {
    print(error)
}
