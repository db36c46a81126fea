internal import CMicroHTTPD
import FrameSocket
import Locking

/// The parts of a request that this program uses.
struct HTTPRequest: Sendable {
    var method = "GET"
    /// The path without the query; the whole address without the query in the absolute form.
    var target: String
    /// The fields and the arguments of the query that ``HTTPServer`` reads; a field that is repeated is left out.
    var fields: [String: String] = [:]
    var arguments: [String: String] = [:]
}

/// The answer to a request; thrown if it is refused.
struct HTTPResponse: Error {
    enum Body: Sendable {
        case text(String)
        case frame(FrameBytes)
        case stream(PreviewStream)
    }

    var status: UInt32
    var fields: [(name: String, value: String)]
    var body: Body

    /// Creates an answer.
    init(_ status: UInt32 = 200, type: String, _ body: Body) {
        (self.status, self.body) = (status, body)
        fields = [("Content-Type", type)]
    }

    /// Creates an answer with a sentence for a person.
    init(_ status: UInt32, _ sentence: String) {
        self.init(status, type: "text/plain; charset=utf-8", .text(sentence + "\n"))
    }

    /// Adds a field.
    func adding(_ name: String, _ value: String) -> Self {
        var response = self
        response.fields.append((name, value))
        return response
    }
}

/// An HTTP server (libmicrohttpd) with a thread for each connection.
@safe final class HTTPServer: Sendable {
    private static let fieldNames = ["Host", "Cookie", "Sec-Fetch-Site", "If-None-Match"]
    private static let argumentNames = ["action", "sender", "token", "viewer"]

    private static var installation: String {
        #if os(Linux)
            "on Debian: apt install libmicrohttpd12"
        #else
            "brew install libmicrohttpd"
        #endif
    }

    /// The address, with the actual port if port 0 was requested.
    let address: HTTPAddress

    /// - Note: `@unchecked Sendable` holds because the library's functions may be called from every thread.
    @safe private struct Daemon: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let daemon: Daemon
    /// Kept alive for the daemon, which calls it.
    private let routes: PreviewRoutes

    /// Starts serving.
    ///
    /// - Throws: `unavailable` if the port is in use or the library is missing, `cannotCreate` for everything else.
    init(at address: HTTPAddress, answering routes: PreviewRoutes) throws(CommandFailure) {
        if let failure = unsafe microhttpd_load() {
            let reason = unsafe String(cString: failure)
            throw CommandFailure(.unavailable, "the preview requires libmicrohttpd (\(reason)); \(Self.installation)")
        }
        var address = address
        let listener = unsafe microhttpd_listen(address.host, &address.port)
        guard listener >= 0 else {
            let error = errno
            let code: ExitCode = error == EADDRINUSE ? .unavailable : .cannotCreate
            throw CommandFailure(code, Files.Failure("\(address)", error).message)
        }
        let pointer = unsafe microhttpd_start(
            listener,
            UInt32(clamping: routes.connections.hardMaximum),
            Self.handler,
            Self.changed,
            Self.completed,
            Unmanaged.passUnretained(routes).toOpaque()
        )
        guard let pointer = unsafe pointer else {
            throw CommandFailure(.cannotCreate, Files.Failure("the HTTP server at \(address)").message)
        }
        (self.address, self.routes) = (address, routes)
        daemon = unsafe Daemon(pointer: pointer)
    }

    /// Closes every connection and waits for its thread; must be called exactly once, when no answer waits any more.
    func stop() { unsafe microhttpd_stop(daemon.pointer) }

    // MARK: What the library calls

    private static func routes(_ context: UnsafeMutableRawPointer) -> PreviewRoutes {
        unsafe Unmanaged<PreviewRoutes>.fromOpaque(context).takeUnretainedValue()
    }

    /// Called when a connection starts, and when it is about to be closed.
    private static let changed: MHD_NotifyConnectionCallback = { context, connection, _, change in
        guard let context = unsafe context, let connection = unsafe connection else { return }
        let connections = unsafe routes(context).connections
        let key = unsafe HTTPConnections.Key(connection)
        guard change == microhttpd_opened else { return connections.closed(key) }
        connections.opened(key, socket: unsafe microhttpd_socket(connection))
    }

    /// Called when a request has been answered, or never will be.
    private static let completed: MHD_RequestCompletedCallback = { context, connection, _, _ in
        guard let context = unsafe context, let connection = unsafe connection else { return }
        unsafe routes(context).connections.awaitsRequest(HTTPConnections.Key(connection))
    }

    /// Called once for the header, then for each part of a request's body, and finally for the answer.
    private static let handler: MHD_AccessHandlerCallback = { context, connection, target, method, _, _, size, state in
        guard let context = unsafe context, let connection = unsafe connection, let target = unsafe target,
            let method = unsafe method, let size = unsafe size, let state = unsafe state
        else { return microhttpd_no }
        guard unsafe state.pointee != nil else {
            // Answering now would close the connection.
            unsafe state.pointee = context
            return microhttpd_yes
        }
        guard unsafe size.pointee == 0 else {
            // No request needs a body: this part of it is dropped, until the request's deadline.
            unsafe size.pointee = 0
            return microhttpd_yes
        }
        var request = unsafe HTTPRequest(method: String(cString: method), target: String(cString: target))
        for name in fieldNames {
            request.fields[name] = unsafe microhttpd_field(connection, name).map { unsafe String(cString: $0) }
        }
        for name in argumentNames {
            request.arguments[name] = unsafe microhttpd_argument(connection, name).map { unsafe String(cString: $0) }
        }
        let routes = unsafe routes(context)
        let key = unsafe HTTPConnections.Key(connection)
        routes.connections.answers(key, within: nil)
        let answer = routes.answer(request, to: key)
        routes.connections.answers(key, within: HTTPConnections.answerLimit)
        guard let response = unsafe response(answer.body) else { return microhttpd_no }
        for field in answer.fields { unsafe microhttpd_add_field(response, field.name, field.value) }
        return unsafe microhttpd_answer(connection, answer.status, response)
    }

    /// Creates the library's response; nil if there is no memory.
    private static func response(_ body: HTTPResponse.Body) -> OpaquePointer? {
        switch body {
        case .text(let text):
            return unsafe Array(text.utf8).withUnsafeBytes { unsafe microhttpd_copy($0.baseAddress, $0.count) }
        case .frame(let frame):
            return unsafe frame.withSpan { bytes in
                unsafe bytes.withUnsafeBytes { unsafe microhttpd_copy($0.baseAddress, $0.count) }
            }
        case .stream(let stream):
            let retained = unsafe Unmanaged.passRetained(stream)
            let response = unsafe microhttpd_stream(
                { context, _, room, count in
                    guard let context = unsafe context, let room = unsafe room else { return microhttpd_end }
                    let stream = unsafe Unmanaged<PreviewStream>.fromOpaque(context).takeUnretainedValue()
                    let count = unsafe stream.read(into: UnsafeMutableRawBufferPointer(start: room, count: count))
                    return count > 0 ? count : microhttpd_end
                },
                retained.toOpaque(),
                { context in
                    guard let context = unsafe context else { return }
                    unsafe Unmanaged<PreviewStream>.fromOpaque(context).release()
                }
            )
            if unsafe response == nil { unsafe retained.release() }
            return unsafe response
        }
    }
}

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

/// Where pages are served: an address of this machine and a port, such as `127.0.0.1:8080` or `[::1]:8080`.
struct HTTPAddress: Sendable {
    /// The address, without brackets.
    let host: String
    /// The port; 0 asks for any free one.
    var port: UInt16
    /// The four or sixteen bytes of the address.
    private let bytes: [UInt8]

    /// Parses an address and a port; nil if the text is not of that form.
    ///
    /// Names are not resolved, since they might lead anywhere; `localhost` is 127.0.0.1.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        let name = text[..<colon]
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        host = name == "localhost" ? "127.0.0.1" : String(isBracketed ? name.dropFirst().dropLast() : name)
        self.port = port
        guard let bytes = isBracketed ? Self.bytes(version6: host) : Self.bytes(version4: host) else { return nil }
        self.bytes = bytes
    }

    /// Whether only this machine can reach the address.
    var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1]
    }

    /// The URL for a browser, which cannot connect to an address that stands for all of the machine.
    var url: String {
        let isEverywhere = bytes.allSatisfy { $0 == 0 }
        let name = bytes.count == 4 ? isEverywhere ? "127.0.0.1" : host : isEverywhere ? "[::1]" : "[\(host)]"
        return "http://\(name):\(port)/"
    }

    /// The four bytes of an IPv4 address in dotted decimal; nil for any other text.
    static func bytes(version4 text: String) -> [UInt8]? { bytes(text, AF_INET, count: 4) }

    /// The sixteen bytes of an IPv6 address; nil for any other text, including one with a zone.
    static func bytes(version6 text: String) -> [UInt8]? { bytes(text, AF_INET6, count: 16) }

    private static func bytes(_ text: String, _ family: Int32, count: Int) -> [UInt8]? {
        unsafe withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { room in
            guard unsafe inet_pton(family, text, room.baseAddress) == 1 else { return nil }
            return unsafe Array(room[..<count])
        }
    }
}

extension HTTPAddress: CustomStringConvertible {
    /// The address as it is typed.
    var description: String { bytes.count == 4 ? "\(host):\(port)" : "[\(host)]:\(port)" }
}
