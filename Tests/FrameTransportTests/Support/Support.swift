import Foundation
import FrameTransport
import FrameWire

/// A directory of a test's own, gone when the test lets go of it.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = "/tmp/fs-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// A path for a socket in it.
    var socket: String { path + "/rtc_SSFD" }
}

/// A body that tells frames apart: `count` bytes that follow from `seed`.
func body(_ seed: Int, count: Int) -> [UInt8] {
    var generator = SplitMix(state: UInt64(seed))
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
}

/// A message as deployed senders write it.
func message(_ body: [UInt8], width: Int = 562, height: Int = 1218, orientation: Int = 1) -> [UInt8] {
    Array(
        """
        HTTP/1.1 200 OK\r
        Content-Length: \(body.count)\r
        Buffer-Width: \(width)\r
        Buffer-Height: \(height)\r
        Buffer-Orientation: \(orientation)\r
        \r

        """.utf8
    ) + body
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
