internal import CMicroHTTPD
import FrameSocket
import Locking

/// A request.
struct HTTPRequest: Sendable {
    var method = "GET"
    /// The path without the query; the whole address without the query in the absolute form.
    var target: String
    /// The fields by their names in lower case; one that is repeated is left out.
    var fields: [String: String] = [:]
    /// The arguments of the query; the first of each name.
    var arguments: [String: String] = [:]
}

/// The answer to a request; thrown if it is refused.
struct HTTPResponse: Error {
    /// Returns what follows when there is something; nil at the end, or once the client has left.
    typealias Continuation = @Sendable (_ hasLeft: () -> Bool) -> [UInt8]?

    var status: UInt32
    var fields: [(name: String, value: String)]
    var body: [UInt8]
    /// What follows, if it is not known how much that is.
    var next: Continuation?

    init(_ status: UInt32 = 200, type: String, _ body: [UInt8] = [], next: Continuation? = nil) {
        (self.status, self.body, self.next) = (status, body, next)
        fields = [("Content-Type", type)]
    }

    init(_ status: UInt32 = 200, type: String = "text/plain; charset=utf-8", text: String) {
        self.init(status, type: type, Array(text.utf8))
    }

    /// Adds a field.
    func adding(_ name: String, _ value: String) -> Self {
        var response = self
        response.fields.append((name, value))
        return response
    }
}

/// An HTTP server (libmicrohttpd) with a thread for each connection.
///
/// The library's own timeout is for the time without a byte, and a client that sends or reads one now and then would keep
/// its place: requests and answers have deadlines here. If there are too many connections, the one that has been without a
/// request for longest makes way: a new one, if all others are being answered.
@safe final class HTTPServer: Sendable {
    /// How long a client may take over each request, from the opening of the connection or the answer before on.
    private static let requestLimit = TimeLimit.of(.seconds(10))
    /// How long a client may take over an answer, or over a part of an endless one.
    private static let answerLimit = TimeLimit.of(.seconds(60))

    private static var installation: String {
        #if os(Linux)
            "on Debian: apt install libmicrohttpd12"
        #else
            "brew install libmicrohttpd"
        #endif
    }

    /// What a client does, and its deadline on the monotonic clock: none while this program makes it wait.
    private enum Client {
        case asking(until: UInt64)
        case answered(until: UInt64 = .max)
        /// Its thread has to end before its place is free.
        case closing

        var deadline: UInt64 {
            switch self {
            case .asking(let deadline), .answered(let deadline): deadline
            case .closing: .max
            }
        }

        var isClosing: Bool { if case .closing = self { true } else { false } }

        static var asking: Client { .asking(until: MonotonicClock.now() &+ requestLimit.nanoseconds) }
        static var reading: Client { .answered(until: MonotonicClock.now() &+ answerLimit.nanoseconds) }
    }

    /// Beyond the maximum, those that are being closed; then, the library closes new ones.
    static func hardMaximum(_ maximum: Int) -> Int { maximum + 32 }

    private let maximum: Int
    private let answer: @Sendable (HTTPRequest) -> HTTPResponse
    /// By the connection's socket.
    private let clients = Locked<[Int32: Client]>([:])
    private let daemon = unsafe Locked<OpaquePointer?>(nil)
    /// The functions may be called from every thread.
    @safe private nonisolated(unsafe) let library: UnsafePointer<microhttpd>

    /// Loads the library.
    ///
    /// - Throws: `unavailable` if it is missing.
    init(
        maximumConnections maximum: Int,
        _ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) throws(CommandFailure) {
        guard let library = unsafe microhttpd_load() else {
            let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? "unknown"
            throw CommandFailure(.unavailable, "the preview requires libmicrohttpd (\(reason)); \(Self.installation)")
        }
        (self.maximum, self.answer) = (maximum, answer)
        unsafe self.library = library
    }

    /// Starts serving; returns the address with the actual port.
    ///
    /// - Throws: `unavailable` if the port is in use, `cannotCreate` for everything else.
    func start(at address: HTTPAddress) throws(CommandFailure) -> HTTPAddress {
        var address = address
        let started = unsafe microhttpd_start(
            address.host,
            &address.port,
            UInt32(clamping: Self.hardMaximum(maximum)),
            Self.handler,
            Self.changed,
            Self.completed,
            Unmanaged.passUnretained(self).toOpaque()
        )
        guard let started = unsafe started else {
            let error = errno
            let code: ExitCode = error == EADDRINUSE ? .unavailable : .cannotCreate
            throw CommandFailure(code, on: "\(address)", error)
        }
        unsafe daemon.withLock { unsafe $0 = started }
        return address
    }

    /// Closes every connection, as soon as what is being answered has been sent, and waits for its thread; must be called when
    /// no answer waits any more, and before the server is released.
    ///
    /// It does not wait long: a client that reads nothing never has its answer.
    func stop() async {
        for _ in 0..<50 where isAnswering { try? await Task.sleep(for: .milliseconds(10)) }
        if let daemon = unsafe daemon.withLock({ unsafe $0.take() }) { unsafe library.pointee.stop_daemon(daemon) }
    }

    private var isAnswering: Bool {
        clients.withLock { $0.values.contains { if case .answered = $0 { true } else { false } } }
    }

    // MARK: Connections

    /// Closes the connections of clients that are late; must be called from time to time.
    ///
    /// Within the lock, which is taken before the library closes a socket: the descriptor is still the client's.
    func closeLate() {
        let now = MonotonicClock.now()
        clients.withLock { clients in
            for (socket, client) in clients where client.deadline <= now { Self.close(socket, in: &clients) }
        }
    }

    private static func close(_ socket: Int32, in clients: inout [Int32: Client]) {
        shutdown(socket, Int32(truncatingIfNeeded: SHUT_RDWR))
        clients[socket] = .closing
    }

    private func opened(_ socket: Int32) {
        let closing = clients.withLock { clients in
            clients[socket] = .asking
            let closing = clients.values.count(where: \.isClosing)
            guard clients.count - closing > maximum else { return closing }
            // All have the same time for a request: the earliest deadline is that of the oldest wait.
            let idle = clients.filter { if case .asking = $0.value { true } else { false } }
            if let oldest = idle.min(by: { $0.value.deadline < $1.value.deadline }) {
                Self.close(oldest.key, in: &clients)
            }
            return closing
        }
        // No other connection is accepted meanwhile: the more are being closed, the more time their threads get, so that a
        // burst does not reach the hard maximum. All together, that is half a second.
        if closing > 0 { usleep(1_000 * UInt32(clamping: closing)) }
    }

    private func set(_ socket: Int32, _ client: Client) {
        clients.withLock { if $0[socket]?.isClosing == false { $0[socket] = client } }
    }

    /// Returns whether the client has left, or sends no more.
    private func hasLeft(_ socket: Int32) -> Bool {
        clients.withLock { clients in
            guard clients[socket]?.isClosing == false else { return true }
            var byte: UInt8 = 0
            let count = unsafe recv(socket, &byte, 1, Int32(truncatingIfNeeded: MSG_PEEK | MSG_DONTWAIT))
            return count == 0 || count < 0 && ![EAGAIN, EWOULDBLOCK, EINTR].contains(errno)
        }
    }

    // MARK: What the library calls

    private static func server(_ context: UnsafeMutableRawPointer) -> HTTPServer {
        unsafe Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
    }

    /// Called when a connection starts, and when it is about to be closed.
    private static let changed: MHD_NotifyConnectionCallback = { context, connection, _, change in
        guard let context = unsafe context, let connection = unsafe connection else { return }
        let (server, socket) = unsafe (server(context), microhttpd_socket(connection))
        if change == .CONNECTION_NOTIFY_STARTED { return server.opened(socket) }
        server.clients.withLock { _ = $0.removeValue(forKey: socket) }
    }

    /// Called when a request has been answered, or never will be.
    private static let completed: MHD_RequestCompletedCallback = { context, connection, _, _ in
        guard let context = unsafe context, let connection = unsafe connection else { return }
        unsafe server(context).set(microhttpd_socket(connection), .asking)
    }

    /// Called once for the header, then for each part of a request's body, and finally for the answer.
    private static let handler: MHD_AccessHandlerCallback = { context, connection, target, method, _, _, size, state in
        guard let context = unsafe context, let connection = unsafe connection, let target = unsafe target,
            let method = unsafe method, let size = unsafe size, let state = unsafe state
        else { return .NO }
        guard unsafe state.pointee != nil else {
            // Answering now would close the connection.
            unsafe state.pointee = context
            return .YES
        }
        guard unsafe size.pointee == 0 else {
            // No request needs a body: this part of it is dropped, until the request's deadline.
            unsafe size.pointee = 0
            return .YES
        }
        let server = unsafe server(context)
        let request = unsafe HTTPRequest(
            method: String(cString: method),
            target: String(cString: target),
            fields: server.values(.HEADER_KIND, of: connection).compactMapValues { $0.count == 1 ? $0.first : nil },
            arguments: server.values(.GET_ARGUMENT_KIND, of: connection).compactMapValues { $0.first }
        )
        return unsafe server.respond(to: request, on: connection)
    }

    /// The values of a request's header or query by their names, which have no case in a header.
    private func values(_ kind: MHD_ValueKind, of connection: OpaquePointer) -> [String: [String]] {
        var values: [String: [String]] = [:]
        let add: MHD_KeyValueIterator = { context, kind, name, value in
            // An argument may have no value.
            guard let context = unsafe context, let name = unsafe name, let value = unsafe value else { return .YES }
            let values = unsafe context.assumingMemoryBound(to: [String: [String]].self)
            let key = unsafe kind == .HEADER_KIND ? String(cString: name).lowercased() : String(cString: name)
            unsafe values.pointee[key, default: []].append(String(cString: value))
            return .YES
        }
        unsafe withUnsafeMutablePointer(to: &values) { values in
            _ = unsafe library.pointee.get_connection_values(connection, kind, add, values)
        }
        return values
    }

    private func respond(to request: HTTPRequest, on connection: OpaquePointer) -> MHD_Result {
        let socket = unsafe microhttpd_socket(connection)
        set(socket, .answered())
        var answer = answer(request)
        // The library ends one whose length is unknown with a last part, which a client takes for the next answer.
        if request.method == "HEAD" { answer.next = nil }
        set(socket, .reading)
        let body = unsafe Unmanaged.passRetained(Body(server: self, socket: socket, answer))
        let response = unsafe library.pointee.create_response_from_callback(
            answer.next == nil ? UInt64(answer.body.count) : .max,
            64 << 10,
            { context, _, room, count in
                guard let context = unsafe context, let room = unsafe room else { return Body.end }
                let body = unsafe Unmanaged<Body>.fromOpaque(context).takeUnretainedValue()
                return unsafe body.read(into: UnsafeMutableRawBufferPointer(start: room, count: count))
            },
            body.toOpaque(),
            { context in
                if let context = unsafe context { unsafe Unmanaged<Body>.fromOpaque(context).release() }
            }
        )
        guard let response = unsafe response else {
            unsafe body.release()
            return .NO
        }
        defer { unsafe library.pointee.destroy_response(response) }
        for field in answer.fields { _ = unsafe library.pointee.add_response_header(response, field.name, field.value) }
        return unsafe library.pointee.queue_response(connection, answer.status, response)
    }

    /// What is left to send of an answer; read by the connection's own thread.
    private final class Body {
        static let end = MHD_CONTENT_READER_END_OF_STREAM

        private let server: HTTPServer
        private let socket: Int32
        private let next: HTTPResponse.Continuation?
        private var rest: ArraySlice<UInt8>

        init(server: HTTPServer, socket: Int32, _ answer: HTTPResponse) {
            (self.server, self.socket, next, rest) = (server, socket, answer.next, answer.body[...])
        }

        func read(into room: UnsafeMutableRawBufferPointer) -> Int {
            if rest.isEmpty {
                guard let next else { return Self.end }
                server.set(socket, .answered())
                guard let part = next({ server.hasLeft(socket) }) else { return Self.end }
                server.set(socket, .reading)
                rest = part[...]
            }
            let piece = rest.prefix(room.count)
            unsafe room.copyBytes(from: piece)
            rest.removeFirst(piece.count)
            return piece.count
        }
    }
}

/// An address or a name with a port, as it is typed and as requests state it: `127.0.0.1:8080`, `[::1]:8080`, `studio`.
struct HTTPAddress: Sendable {
    /// The address without brackets, or the name, in lower case.
    let host: String
    /// The port, 80 if none is stated; 0 asks for any free one.
    var port: UInt16
    /// Whether a port is stated.
    let hasPort: Bool
    /// The four or sixteen bytes of the address; none for a name.
    private let bytes: [UInt8]

    /// Parses a text; nil if it has another form.
    ///
    /// Names are not resolved, since they might lead anywhere; `localhost` is 127.0.0.1.
    init?(_ text: some StringProtocol) {
        let isBracketed = text.hasPrefix("[")
        guard let end = text.firstIndex(of: isBracketed ? "]" : ":") ?? (isBracketed ? nil : text.endIndex) else {
            return nil
        }
        let name = text[..<end].dropFirst(isBracketed ? 1 : 0).lowercased()
        let rest = text[end...].dropFirst(isBracketed ? 1 : 0)
        host = name == "localhost" && !isBracketed ? "127.0.0.1" : name
        bytes = Self.bytes(host, isBracketed ? AF_INET6 : AF_INET, count: isBracketed ? 16 : 4)
        hasPort = !rest.isEmpty
        guard let port = rest.isEmpty ? 80 : rest.first == ":" ? UInt16(rest.dropFirst()) : nil,
            !bytes.isEmpty || !isBracketed && Self.isName(host)
        else { return nil }
        self.port = port
    }

    /// The bytes of an address in the form of one of the two versions, without a zone; empty for any other text.
    private static func bytes(_ text: String, _ family: Int32, count: Int) -> [UInt8] {
        unsafe withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { room in
            unsafe inet_pton(family, text, room.baseAddress) == 1 ? unsafe Array(room[..<count]) : []
        }
    }

    private static func isName(_ text: String) -> Bool {
        text.isPlain(1...253) && !text.hasPrefix(".") && !text.hasSuffix(".")
    }

    /// Whether it is an address and not a name.
    var isAddress: Bool { !bytes.isEmpty }

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
}

extension HTTPAddress: CustomStringConvertible {
    /// The address as it is typed.
    var description: String { bytes.count == 4 ? "\(host):\(port)" : "[\(host)]:\(port)" }
}

extension String {
    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._".utf8)

    /// Whether the text has only letters of ASCII, digits, hyphens, dots and underscores, and one of some lengths.
    func isPlain(_ lengths: ClosedRange<Int>) -> Bool {
        lengths.contains(utf8.count) && utf8.allSatisfy(Self.plain.contains)
    }
}
