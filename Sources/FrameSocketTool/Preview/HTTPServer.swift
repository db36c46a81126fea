internal import CMicroHTTPD
import FrameSocket

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
