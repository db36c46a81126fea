internal import CMicroHTTPD
import FrameSocket
import Locking

/// The connections of an HTTP server: who owns them, and when a request has to be complete.
///
/// The client's owner is checked before anything is read. Clients that are not allowed are answered at once, and so
/// cannot keep places from others by sending slowly. If there are too many connections, the one that has been idle
/// for longest makes way for a new one.
@safe final class HTTPConnections: Sendable {
    /// How long a client may take over its first request, and over each further one on the same connection.
    private static let patience = TimeLimit.of(.seconds(10)).nanoseconds

    /// How many bytes the system may buffer for a slow client: more would only let it see older frames.
    private static let systemBuffer: Int32 = 256 << 10

    private static let bothHalves = Int32(truncatingIfNeeded: SHUT_RDWR)

    private struct Client {
        let userID: UInt32?
        /// When its request has to be complete, on the monotonic clock; nil while one is answered.
        var deadline: UInt64?
    }

    /// The maximum number of connections that last; there is one more while another makes way.
    let maximum: Int

    private let clients = Locked<[UInt: Client]>([:])
    private let identifiesClients: Bool
    private let refusal: @Sendable (UInt32?) -> HTTPResponse?

    /// Creates a table of connections.
    ///
    /// - Parameters:
    ///   - maximum: The maximum number of connections.
    ///   - identifiesClients: Whether to ask the system who connects.
    ///   - refusal: Returns the answer to a user's program that is not allowed; nil if it is.
    init(maximum: Int, identifiesClients: Bool, refusal: @escaping @Sendable (UInt32?) -> HTTPResponse?) {
        self.maximum = maximum
        self.identifiesClients = identifiesClients
        self.refusal = refusal
    }

    /// The user whose program is at the other end; nil if unknown.
    func userID(of connection: OpaquePointer) -> UInt32? {
        clients.withLock { $0[UInt(bitPattern: connection)]?.userID }
    }

    /// Closes the connections of clients whose requests are late.
    func closeLate() {
        let now = MonotonicClock.now()
        clients.withLock { clients in
            for (key, client) in clients {
                guard let deadline = client.deadline, deadline <= now else { continue }
                Self.close(key, in: &clients)
            }
        }
    }

    /// Has the client that has been without a whole request for longest make way, if there are too many; if every one of
    /// them is being answered, the one that came last.
    private func makeWay() {
        clients.withLock { clients in
            guard clients.count > maximum else { return }
            // All have the same time for a request: the earliest deadline is that of the oldest wait.
            let idle = clients.compactMap { key, client in client.deadline.map { (key, $0) } }
            if let (key, _) = idle.min(by: { $0.1 < $1.1 }) { Self.close(key, in: &clients) }
        }
    }

    /// Closes a connection; within the lock, which the library needs to close the socket: the descriptor is still the
    /// client's.
    private static func close(_ key: UInt, in clients: inout [UInt: Client]) {
        guard let connection = unsafe OpaquePointer(bitPattern: key) else { return }
        unsafe shutdown(microhttpd_socket(connection), bothHalves)
        clients[key]?.deadline = nil
    }

    // MARK: On the server's thread

    func started(_ connection: OpaquePointer) {
        let userID = identifiesClients ? unsafe HTTPClient.userID(of: connection) : nil
        let client = Client(userID: userID, deadline: MonotonicClock.now() &+ Self.patience)
        clients.withLock { $0[UInt(bitPattern: connection)] = client }
        let socket = unsafe microhttpd_socket(connection)
        var size = Self.systemBuffer
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        guard identifiesClients, let refusal = refusal(userID) else { return makeWay() }
        let bytes = Self.bytes(of: refusal)
        // Far less than an empty socket buffer holds.
        _ = unsafe bytes.withUnsafeBytes { unsafe send(socket, $0.baseAddress, $0.count, 0) }
        shutdown(socket, Self.bothHalves)
    }

    func ended(_ connection: OpaquePointer) {
        clients.withLock { _ = $0.removeValue(forKey: UInt(bitPattern: connection)) }
    }

    /// Records that a request is complete.
    func asked(_ connection: OpaquePointer) {
        clients.withLock { $0[UInt(bitPattern: connection)]?.deadline = nil }
    }

    /// Records that a request has been answered; another may follow.
    func answered(_ connection: OpaquePointer) {
        let deadline = MonotonicClock.now() &+ Self.patience
        clients.withLock { $0[UInt(bitPattern: connection)]?.deadline = deadline }
    }

    /// A complete answer, after which the connection is closed.
    private static func bytes(of response: HTTPResponse) -> [UInt8] {
        guard case .bytes(let body) = response.body else { return [] }
        var header = "HTTP/1.1 \(response.status) Forbidden\r\n"
        for field in response.fields { header += "\(field.name): \(field.value)\r\n" }
        header += "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Array(header.utf8) + body
    }
}
