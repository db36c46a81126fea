import Foundation
import FrameSocket

// SyntheticScreen SOCKET [COUNT]: draws a screen 30 times a second, and sends it until COUNT frames are sent.
let arguments = CommandLine.arguments.dropFirst()
guard let path = arguments.first else {
    print("usage: SyntheticScreen SOCKET [COUNT]")
    exit(64)
}
let count = arguments.dropFirst().first.flatMap { Int($0) } ?? 300

let connection = SocketConnection(path: path)
// Tries every 100 ms until somebody listens there.
try await connection.open(within: .seconds(30))
let uploader = SampleUploader(
    connection: connection,
    configuration: .init(quality: 80, pacing: .everyFrame.skippingUnchanged())
)

var screen = try Screen(width: 640, height: 360)
while uploader.statistics.sent < count, connection.state == .connected {
    try screen.draw()
    // Never waits. The result says whether the frame is sent or why it is not.
    uploader.send(screen.image, orientation: .up)
    try await Task.sleep(for: .seconds(1) / 30)
}
try await uploader.finish()
connection.close()

let statistics = uploader.statistics
for await case .ended(let reason) in connection.states {
    print("\(statistics.sent) sent, \(statistics.dropped) of \(statistics.offered) dropped; \(reason)")
}
