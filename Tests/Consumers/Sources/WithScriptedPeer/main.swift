import FrameSocketTesting
import FrameTransport

// A program's own peer: what an existing Jitsi sender wrote, byte by byte at first, and then an end within a frame.
let path = CommandLine.arguments[1]
let stream = RecordedStream.cutInBody
let server = try FrameServer(at: path)
async let transcript = ScriptedPeer(.connect(to: path), .write(stream, chunk: 1000), .close).run()

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
_ = try await transcript
do {
    _ = try await ScriptedPeer(.read(1)).run()
} catch {
    print(error)
}
