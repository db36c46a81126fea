import Foundation
package import FrameSocketTesting
package import FrameTransport
import FrameWire

extension TemporaryDirectory {
    /// How long anything may take that is not itself about time: a test that has to wait for a processor must not fail.
    private static let generous = Duration.seconds(600)

    /// A connection to that socket, which tries again soon and is patient otherwise.
    package func connection(_ change: (inout SocketConnection.Configuration) -> Void = { _ in }) -> SocketConnection {
        var configuration = SocketConnection.Configuration()
        configuration.retryInterval = .milliseconds(1)
        configuration.sendTimeout = Self.generous
        configuration.handshakeTimeout = Self.generous
        configuration.linger = Self.generous
        change(&configuration)
        return SocketConnection(path: socket, configuration: configuration)
    }

    /// A connection that is open, and its peer.
    package func openConnection(
        _ change: (inout SocketConnection.Configuration) -> Void = { _ in }
    ) async throws -> (SocketConnection, server: PeerSocket, peer: PeerSocket) {
        let server = try PeerSocket.listening(at: socket)
        let connection = connection(change)
        try await connection.open(within: nil)
        return (connection, server, try await server.accepted())
    }

    /// A server at that socket, as patient.
    package func server(_ change: (inout FrameServer.Configuration) -> Void = { _ in }) throws -> FrameServer {
        var configuration = FrameServer.Configuration()
        configuration.limits.firstFrameTimeout = nil
        configuration.limits.handshakeTimeout = Self.generous
        configuration.limits.headerTimeout = Self.generous
        configuration.limits.bodyTimeout = Self.generous
        change(&configuration)
        return try FrameServer(at: socket, configuration: configuration)
    }
}

/// A body that tells frames apart, and places in them: `count` bytes that follow from `seed`.
package func body(_ seed: Int, count: Int) -> [UInt8] {
    var generator = SplitMix(seed: UInt64(seed))
    // A block of a prime length, repeated: generating every byte takes longer than everything else in a test.
    let block = (0..<min(count, 4099)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count + block.count < count { bytes += block }
    return bytes + block.prefix(count - bytes.count)
}

/// A message as existing Jitsi senders write it.
package func message(_ body: [UInt8], width: Int = 562, height: Int = 1218, orientation: Int = 1) -> [UInt8] {
    PeerMessage.frame(body, width: width, height: height, orientation: orientation).bytes
}

extension IOThread {
    /// Waits until the thread has done what it was asked to before, and what its descriptors were ready for.
    package func settle() async {
        // It looks at its descriptors after three tasks at the latest; under Tests/Faults not every look shows what is there.
        let tasks = ProcessInfo.processInfo.environment["FAULTS"] == nil ? 6 : 300
        for _ in 0..<tasks { await Task(executorPreference: self) {}.value }
    }

    /// Keeps the thread from doing anything while `body` runs.
    package func whileHeld<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let gate = Gate()
        let holding = Task(executorPreference: self) { gate.hold() }
        await gate.held()
        defer { gate.release() }
        _ = holding
        return try await body()
    }
}

extension FrameMessage {
    /// A message with `bytes` in place of a JPEG.
    package init(_ bytes: [UInt8], sequence: UInt64? = nil) {
        let info = FrameInfo(bufferSize: BufferSize(width: 562, height: 1218), sequence: sequence)
        self.init(jpeg: FrameBytes(bytes), info: info)
    }
}

extension FrameServer {
    /// Consumes the frames of every connection until the server ends, each on the thread that reads it.
    @discardableResult
    package func consumeOnThreads(_ body: @escaping @Sendable (FrameConnection, Frame) -> Void) -> Task<Void, any Error>
    {
        Task { [connections] in
            try await withThrowingDiscardingTaskGroup { group in
                for try await connection in connections {
                    group.addTask(executorPreference: connection.thread) {
                        for try await frame in connection.frames { body(connection, frame) }
                    }
                }
            }
        }
    }
}

/// The first connection of a server.
package func firstConnection(of server: FrameServer) async throws -> FrameConnection? {
    for try await connection in server.connections { return connection }
    return nil
}

extension Frame {
    /// The bytes of the JPEG; none if the image is in shared memory.
    package var bytes: [UInt8] { jpeg?.array() ?? [] }
}
