internal import CMicroHTTPD
import FrameSocket

/// A small HTTP server (libmicrohttpd) with a thread of its own.
@safe final class HTTPServer: Sendable {
    /// The memory limit of a connection in bytes, including its header and its output buffer.
    static let memoryPerConnection = 64 << 10

    /// The number of seconds without a byte after which a connection is closed.
    static let idleSeconds: UInt32 = 30

    private static var installation: String {
        #if os(Linux)
            "on Debian: apt install libmicrohttpd12"
        #else
            "brew install libmicrohttpd"
        #endif
    }

    /// The address, with the actual port if port 0 was requested.
    let address: HTTPAddress

    private let daemon: Daemon
    /// Kept alive for the daemon, which calls it.
    private let responder: Responder

    /// Starts serving.
    ///
    /// - Parameters:
    ///   - address: Where to listen.
    ///   - clients: Checks who connects, and that there are not too many.
    ///   - wait: Returns what a request waits for before it is answered; nil if it is answered at once. Called on the
    ///     server's thread.
    ///   - answer: Returns the answer to a request, whose body is ignored; called on the server's thread.
    /// - Throws: `unavailable` if the port is in use or the library is missing, `cannotCreate` for everything else.
    init(
        at address: HTTPAddress,
        clients: HTTPConnections,
        wait: @escaping @Sendable (HTTPRequest) -> HTTPWait?,
        answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) throws(CommandFailure) {
        if let failure = unsafe microhttpd_load() {
            let reason = unsafe String(cString: failure)
            throw CommandFailure(.unavailable, "the preview requires libmicrohttpd (\(reason)); \(Self.installation)")
        }
        let listener = try HTTPListener.make(at: address)
        let responder = Responder(wait, answer, clients)
        let started = unsafe microhttpd_start(
            listener.descriptor,
            // At its own limit, the library would leave further clients unanswered until a connection ends.
            UInt32(clamping: clients.maximum + 1),
            Self.memoryPerConnection,
            Self.idleSeconds,
            Responder.handler,
            Responder.changed,
            Responder.completed,
            Unmanaged.passUnretained(responder).toOpaque()
        )
        guard let started = unsafe started else {
            throw CommandFailure(.cannotCreate, Files.Failure("the HTTP server at \(listener.address)").message)
        }
        self.address = listener.address
        self.responder = responder
        daemon = unsafe Daemon(pointer: started)
    }

    /// Closes every connection and waits for the end of the server's thread; must be called exactly once.
    ///
    /// Streams and waits must have been ended before.
    func stop() {
        unsafe microhttpd_stop(daemon.pointer)
    }

    /// - Note: `@unchecked Sendable` holds because the library's functions may be called from every thread.
    @safe private struct Daemon: @unchecked Sendable {
        let pointer: OpaquePointer
    }
}

/// The library's callback for requests.
private final class Responder: Sendable {
    private let wait: @Sendable (HTTPRequest) -> HTTPWait?
    private let answer: @Sendable (HTTPRequest) -> HTTPResponse
    private let clients: HTTPConnections

    init(
        _ wait: @escaping @Sendable (HTTPRequest) -> HTTPWait?,
        _ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse,
        _ clients: HTTPConnections
    ) {
        self.wait = wait
        self.answer = answer
        self.clients = clients
    }

    private static func clients(_ context: UnsafeMutableRawPointer) -> HTTPConnections {
        unsafe Unmanaged<Responder>.fromOpaque(context).takeUnretainedValue().clients
    }

    /// Called when a connection starts, and when it is about to be closed.
    static let changed: MHD_NotifyConnectionCallback = { context, connection, _, change in
        guard let context = unsafe context, let connection = unsafe connection else { return }
        let clients = unsafe clients(context)
        unsafe change == microhttpd_started ? clients.started(connection) : clients.ended(connection)
    }

    /// Called when a request has been answered, or never will be.
    static let completed: MHD_RequestCompletedCallback = { context, connection, memory, _ in
        guard let context = unsafe context, let connection = unsafe connection else { return }
        if let memory = unsafe memory, let exchange = unsafe memory.pointee {
            unsafe memory.pointee = nil
            unsafe Unmanaged<HTTPExchange>.fromOpaque(exchange).takeRetainedValue().end()
        }
        unsafe clients(context).answered(connection)
    }

    /// Called once for the header, then for each part of a request's body, and finally for the answer, twice if that
    /// has been waited for.
    static let handler: MHD_AccessHandlerCallback = { context, connection, url, method, _, _, bodyByteCount, memory in
        guard let context = unsafe context, let connection = unsafe connection, let url = unsafe url,
            let method = unsafe method, let bodyByteCount = unsafe bodyByteCount, let memory = unsafe memory
        else { return microhttpd_no }
        guard let remembered = unsafe memory.pointee else {
            // Answering now would close the connection.
            unsafe memory.pointee = Unmanaged.passRetained(HTTPExchange()).toOpaque()
            return microhttpd_yes
        }
        guard unsafe bodyByteCount.pointee == 0 else {
            // No request needs a body: this part of it is dropped, until the request's deadline.
            unsafe bodyByteCount.pointee = 0
            return microhttpd_yes
        }
        let responder = unsafe Unmanaged<Responder>.fromOpaque(context).takeUnretainedValue()
        let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(remembered).takeUnretainedValue()
        let request = unsafe HTTPRequest(
            method: String(cString: method),
            path: String(cString: url),
            host: field("Host", of: connection),
            hostCount: Int(microhttpd_field_count(connection, "Host")),
            site: field("Sec-Fetch-Site", of: connection),
            sender: argument("sender", of: connection),
            viewer: argument("viewer", of: connection),
            knownTags: field("If-None-Match", of: connection),
            preference: field("Prefer", of: connection),
            userID: responder.clients.userID(of: connection)
        )
        unsafe responder.clients.asked(connection)
        guard
            !exchange.waits(
                for: { responder.wait(request) },
                begin: { unsafe $0.begin(on: connection) }
            )
        else { return microhttpd_yes }
        let response = responder.answer(request)
        exchange.answer(response)
        return unsafe respond(to: connection, response)
    }

    private static func field(_ name: String, of connection: OpaquePointer) -> String? {
        guard let value = unsafe microhttpd_field(connection, name) else { return nil }
        return unsafe String(cString: value)
    }

    private static func argument(_ name: String, of connection: OpaquePointer) -> String? {
        guard let value = unsafe microhttpd_argument(connection, name) else { return nil }
        return unsafe String(cString: value)
    }

    private static func respond(to connection: OpaquePointer, _ answer: HTTPResponse) -> MHD_Result {
        guard let response = unsafe HTTPBody.make(answer.body, for: connection) else { return microhttpd_no }
        defer { unsafe microhttpd_release(response) }
        for field in answer.fields {
            guard unsafe microhttpd_add_field(response, field.name, field.value) else { return microhttpd_no }
        }
        return unsafe microhttpd_answer(connection, answer.status, response)
    }
}
