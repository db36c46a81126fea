import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import Synchronization

extension TemporaryDirectory {
    /// How long anything may take that is not itself about time: a test that has to wait for a processor must not fail.
    private static let generous = Duration.seconds(600)

    /// A connection to that socket, which tries again soon and is patient otherwise.
    func connection(_ change: (inout SocketConnection.Configuration) -> Void = { _ in }) -> SocketConnection {
        var configuration = SocketConnection.Configuration()
        configuration.retryInterval = .milliseconds(1)
        configuration.sendTimeout = Self.generous
        configuration.handshakeTimeout = Self.generous
        configuration.linger = Self.generous
        change(&configuration)
        return SocketConnection(path: socket, configuration: configuration)
    }

    /// A server at that socket, as patient.
    func server(
        delegate: (any FrameServerDelegate)? = nil,
        _ change: (inout FrameServer.Configuration) -> Void = { _ in }
    ) throws -> FrameServer {
        var configuration = FrameServer.Configuration()
        configuration.limits.firstFrame = nil
        configuration.limits.handshake = Self.generous
        configuration.limits.head = Self.generous
        configuration.limits.body = Self.generous
        change(&configuration)
        return try FrameServer(at: socket, configuration: configuration, delegate: delegate)
    }
}

/// A body that tells frames apart, and places in them: `count` bytes that follow from `seed`.
func body(_ seed: Int, count: Int) -> [UInt8] {
    var generator = SplitMix(state: UInt64(seed))
    // A block of a prime length, repeated: generating every byte takes longer than everything else in a test.
    let block = (0..<min(count, 4099)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count + block.count < count { bytes += block }
    return bytes + block.prefix(count - bytes.count)
}

/// A message as deployed senders write it.
func message(_ body: [UInt8], width: Int = 562, height: Int = 1218, orientation: Int = 1) -> [UInt8] {
    PeerMessage.frame(body, width: width, height: height, orientation: orientation).bytes
}

/// A small generator with a seed that a failing test can print.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Waits until something comes true that nothing reports; false if it has not within two minutes.
func eventually(_ condition: () -> Bool) async -> Bool {
    let start = ContinuousClock.now
    while !condition() {
        guard ContinuousClock.now - start < .seconds(120) else { return false }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}

extension IOThread {
    /// Waits until the thread has done what it was asked to before, and what its descriptors were ready for.
    func settle() async {
        // It looks at its descriptors after each round of tasks; under Tests/Faults not every look shows what is there.
        let rounds = ProcessInfo.processInfo.environment["FAULTS"] == nil ? 2 : 100
        for _ in 0..<rounds { await Task(executorPreference: self) {}.value }
    }

    /// Keeps the thread from doing anything while `body` runs.
    func whileHeld<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let gate = Gate()
        let holding = Task(executorPreference: self) { gate.hold() }
        await gate.held()
        defer { gate.release() }
        _ = holding
        return try await body()
    }
}

/// Something that several threads look at, and that is set once.
final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() {
        value.store(true, ordering: .releasing)
    }
}

/// Holds up whatever thread comes to it until it is released.
final class Gate: Sendable {
    private let arrival = DispatchSemaphore(value: 0)
    private let departure = DispatchSemaphore(value: 0)

    /// Holds up the caller's thread.
    func hold() {
        arrival.signal()
        departure.wait()
    }

    /// Waits until a thread is held up.
    func held() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.arrival.wait()
                continuation.resume()
            }
        }
    }

    /// Lets the thread go.
    func release() {
        departure.signal()
    }
}

extension FrameMessage {
    /// A message with `bytes` in place of a JPEG.
    init(_ bytes: [UInt8], sequence: UInt64? = nil) {
        self.init(jpeg: FrameBytes(bytes), bufferSize: BufferSize(width: 562, height: 1218), sequence: sequence)
    }
}

extension FrameBytes {
    convenience init(_ bytes: [UInt8]) {
        self.init(copying: bytes.span)
    }
}

/// The first connection of a server.
func firstConnection(of server: FrameServer) async throws -> FrameConnection? {
    for try await connection in server.connections { return connection }
    return nil
}
