import Foundation
import FrameSocket

// IngestService SOCKET [COUNT]: serves any number of senders at once, until COUNT have come and gone.
let arguments = CommandLine.arguments.dropFirst()
guard let path = arguments.first else {
    print("usage: IngestService SOCKET [COUNT]")
    exit(64)
}
let count = arguments.dropFirst().first.flatMap { Int($0) } ?? .max

var configuration = FrameServer.Configuration()
configuration.limits.maximumConnections = 16
// The memory that bodies being received may use, over all senders.
configuration.memory = FrameServer.MemoryBudget(maximumBytes: 256 << 20)

// Before there is a socket, so that whoever sees it can end the service.
let signals = await EndSignals.make()
let server = try FrameServer(at: path, configuration: configuration)
print("listening at \(server.path)")

// A signal asks for an orderly end: no new senders are admitted, and what has arrived is received. Another one changes
// nothing.
Task { for await _ in signals { server.drain() } }

let ingest = Ingest()
try await ingest.run(server, until: count)
try await server.closed()

for (id, sender) in await ingest.senders.sorted(by: { $0.key < $1.key }) {
    let size = sender.latest.map { "\($0.width)x\($0.height)" } ?? "none"
    let frames = sender.statistics.frames
    print("sender \(id): \(frames) frames, latest \(size), \(sender.end?.name ?? "open")")
}
