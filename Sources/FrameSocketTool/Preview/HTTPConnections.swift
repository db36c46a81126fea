import FrameSocket
import Locking

/// The connections of an HTTP server: how many there may be, and how long each of their clients may take.
///
/// The library's own timeout is for the time without a byte, and a client that sends or reads one now and then would keep
/// its place. If there are too many connections, the one that has been without a request for longest makes way: a new one,
/// if all others are being answered.
final class HTTPConnections: Sendable {
    /// How long a client may take over each request, from the opening of the connection or the answer before on.
    private static let requestLimit = TimeLimit.of(.seconds(10))

    /// How long a client may take over an answer, or over an image of an endless one.
    static let answerLimit = TimeLimit.of(.seconds(60))

    /// A connection, while it is open.
    struct Key: Hashable, Sendable {
        private let number: UInt

        init(_ connection: OpaquePointer) { number = UInt(bitPattern: connection) }
    }

    private struct Client {
        enum Phase { case asking, answered, closing }

        let socket: Int32
        var phase = Phase.asking
        /// On the monotonic clock; nil while this program makes the client wait.
        var deadline: UInt64?

        mutating func close() {
            shutdown(socket, Int32(truncatingIfNeeded: SHUT_RDWR))
            (phase, deadline) = (.closing, nil)
        }
    }

    /// The maximum number of connections that last.
    let maximum: Int

    /// The same with those that are being closed; beyond it, the library closes new ones.
    var hardMaximum: Int { maximum + 32 }

    private let clients = Locked<[Key: Client]>([:])

    init(maximum: Int) { self.maximum = maximum }

    /// Closes the connections of clients that are late; must be called from time to time.
    ///
    /// Within the lock, which ``closed(_:)`` takes before the library closes the socket: the descriptor is still the client's.
    func closeLate() {
        let now = MonotonicClock.now()
        clients.withLock { clients in
            for (key, client) in clients where client.deadline.map({ $0 <= now }) ?? false { clients[key]?.close() }
        }
    }

    /// Returns whether the client has left, or sends no more.
    func hasLeft(_ key: Key) -> Bool {
        clients.withLock { clients in
            guard let client = clients[key] else { return true }
            var byte: UInt8 = 0
            let count = unsafe recv(client.socket, &byte, 1, Int32(truncatingIfNeeded: MSG_PEEK | MSG_DONTWAIT))
            return count == 0 || count < 0 && ![EAGAIN, EWOULDBLOCK, EINTR].contains(errno)
        }
    }

    /// Records that a client is being answered, and has to read within a time if there is one.
    func answers(_ key: Key, within limit: Duration?) {
        change(key, to: .answered, within: limit)
    }

    /// Records that a request is awaited.
    func awaitsRequest(_ key: Key) {
        change(key, to: .asking, within: Self.requestLimit)
    }

    private func change(_ key: Key, to phase: Client.Phase, within limit: Duration?) {
        clients.withLock { clients in
            guard let client = clients[key], client.phase != .closing else { return }
            clients[key] = Client(socket: client.socket, phase: phase, deadline: limit.map(Self.deadline))
        }
    }

    func opened(_ key: Key, socket: Int32) {
        clients.withLock { clients in
            clients[key] = Client(socket: socket, deadline: Self.deadline(Self.requestLimit))
            guard clients.values.count(where: { $0.phase != .closing }) > maximum else { return }
            // All have the same time for a request: the earliest deadline is that of the oldest wait.
            let idle = clients.filter { $0.value.phase == .asking }
            if let oldest = idle.min(by: { $0.value.deadline ?? 0 < $1.value.deadline ?? 0 }) {
                clients[oldest.key]?.close()
            }
        }
    }

    func closed(_ key: Key) {
        clients.withLock { _ = $0.removeValue(forKey: key) }
    }

    private static func deadline(_ limit: Duration) -> UInt64 { MonotonicClock.now() &+ limit.nanoseconds }
}
