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

let server = try FrameServer(at: path, configuration: configuration)
print("listening at \(server.path)")

// The first signal asks for an orderly end: no new senders are admitted, and what has arrived is received. A second one
// ends the process at once, as usual.
let signals = [SIGINT, SIGTERM].map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler { [server] in
        signal(number, SIG_DFL)
        server.drain()
    }
    source.resume()
    return source
}

let ingest = Ingest()
try await ingest.run(server, until: count)
try await server.closed()
signals.forEach { $0.cancel() }

for (id, sender) in await ingest.senders.sorted(by: { $0.key < $1.key }) {
    let size = sender.latest.map { "\($0.width)x\($0.height)" } ?? "none"
    let frames = sender.statistics.frames
    print("sender \(id): \(frames) frames, latest \(size), \(sender.end?.name ?? "open")")
}
