import FrameTransport
import ServiceLifecycle

// The service of the article on ending: the frame that has arrived when the group shuts down is handled, and then it ends.
struct FrameService: Service {
    let server: FrameServer
    let record: @Sendable (Frame) -> Void

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await server.run { connection in
                for try await frame in connection.frames { record(frame) }
            }
        } onGracefulShutdown: {
            server.drain()
        }
    }
}

let path = CommandLine.arguments[1]
let (frames, recorded) = AsyncStream.makeStream(of: Int.self)
let service = FrameService(server: try FrameServer(at: path)) { recorded.yield($0.jpeg?.count ?? 0) }
let running = Task { try await service.run() }

let connection = SocketConnection(path: path)
try await connection.open(within: .seconds(10))
let bytes = FrameBytes([UInt8](repeating: 7, count: 20_000))
try await connection.send(FrameMessage(jpeg: bytes, info: .init(bufferSize: .init(width: 4, height: 2))))
for await count in frames {
    print("frame of \(count) bytes")
    break
}
let states = connection.states
ServiceGroup.triggerGracefulShutdown()
try await running.value
for await case .disconnected(let reason) in states {
    print(reason)
    break
}
print("the service has ended")
