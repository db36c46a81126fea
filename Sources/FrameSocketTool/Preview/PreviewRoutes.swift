import FrameSocket

/// The preview's answer to each request.
final class PreviewRoutes: Sendable {
    let stage: PreviewStage
    let connections: HTTPConnections
    private let access: PreviewAccess
    /// Where senders connect.
    private let endpoint: SocketEndpoint

    init(_ stage: PreviewStage, _ connections: HTTPConnections, _ access: PreviewAccess, at endpoint: SocketEndpoint) {
        (self.stage, self.connections, self.access, self.endpoint) = (stage, connections, access, endpoint)
    }

    /// How long a request for an image waits at most for another one than the page has.
    private static let longestWait = Duration.seconds(1)

    /// Fields of every answer: it is not cached, its type is not guessed, no other site shows it in a page, and the
    /// page loads and runs nothing from elsewhere.
    private static let protection = [
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
    ]

    /// Answers a request of a client.
    func answer(_ request: HTTPRequest, to client: HTTPConnections.Key) -> HTTPResponse {
        var response: HTTPResponse
        do throws(HTTPResponse) {
            let (path, cookie) = try access.check(request)
            response = content(path, request, client)
            if let cookie { response = response.adding("Set-Cookie", cookie) }
        } catch {
            // Whoever may not watch keeps no connection from others.
            response = error.adding("Connection", "close")
        }
        response.fields += Self.protection
        return response
    }

    private func content(_ path: Substring, _ request: HTTPRequest, _ client: HTTPConnections.Key) -> HTTPResponse {
        // As mjpg-streamer has them.
        let action = path == "/" ? request.arguments["action"] : nil
        // Other sites may only link to the page.
        let isFromElsewhere = ["cross-site", "same-site"].contains(request.fields["Sec-Fetch-Site"])
        guard !isFromElsewhere || path == "/" && action == nil else {
            return HTTPResponse(403, "Pages of other sites may not request this.")
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            return HTTPResponse(405, "Method not allowed; use GET or HEAD.").adding("Allow", "GET, HEAD")
        }
        switch (path, action) {
        case ("/", nil): return HTTPResponse(type: "text/html; charset=utf-8", .text(PreviewPage.html))
        case ("/preview.css", _): return HTTPResponse(type: "text/css; charset=utf-8", .text(PreviewPage.css))
        case ("/preview.js", _): return HTTPResponse(type: "text/javascript; charset=utf-8", .text(PreviewPage.script))
        case ("/icon.svg", _): return HTTPResponse(type: "image/svg+xml", .text(PreviewPage.icon))
        case ("/state", _): return chosen(by: request) { state(choosing: $0) }
        case ("/image", _): return chosen(by: request) { image(choosing: $0, request) }
        case ("/snapshot.jpg", _), ("/", "snapshot"):
            return chosen(by: request) { jpeg(stage.state.sender($0)?.image, known: request.fields["If-None-Match"]) }
        case ("/stream", _), ("/", "stream"): return chosen(by: request) { stream(choosing: $0, to: client) }
        default: return HTTPResponse(404, "Not found; the page is at /.")
        }
    }

    /// Answers for the sender that the query names by its connection number; without one, for the latest.
    private func chosen(by request: HTTPRequest, _ answer: (Int?) -> HTTPResponse) -> HTTPResponse {
        if stage.audience.isClosed { return HTTPResponse(410, "The preview has ended.") }
        guard let sender = request.arguments["sender"] else { return answer(nil) }
        guard let number = Int(sender), number > 0 else {
            return HTTPResponse(400, "The sender in a query is the number of a connection, such as sender=1.")
        }
        guard stage.state.sender(number) != nil else {
            return HTTPResponse(404, "Sender \(number) is not connected.")
        }
        return answer(number)
    }

    private func state(choosing choice: Int?) -> HTTPResponse {
        let text = stage.state.json(choosing: choice, endpoint: endpoint, audience: stage.audience)
        return HTTPResponse(type: "application/json", .text(text + "\n"))
    }

    /// Answers a page that asks for one image after another, if it has a place, when there is another one than it has.
    ///
    /// A browser has six connections for all of its pages: the more pages there are, the sooner each is answered without an
    /// image, so that the next request of every page, and that for its state, gets through within a second.
    private func image(choosing choice: Int?, _ request: HTTPRequest) -> HTTPResponse {
        let page = request.arguments["viewer"].flatMap { (1...32).contains($0.utf8.count) ? $0 : nil }
        let audience = stage.audience
        if let page, !audience.admit(page: page), !audience.isClosed { return noPlace }
        defer { if let page { audience.answered(page: page) } }
        let known = request.fields["If-None-Match"]
        audience.wait(atMost: Self.longestWait / max(1, audience.pages)) {
            let state = stage.state
            guard let image = state.image(choice) else { return choice != nil && state.sender(choice) == nil }
            return known?.hasSuffix(stage.tag(of: image)) != true
        }
        return chosen(by: request) { choice in
            guard let image = stage.state.image(choice) else { return HTTPResponse(204, type: "image/jpeg", .text("")) }
            return jpeg(image, known: known)
        }
    }

    private func jpeg(_ image: PreviewImage?, known: String?) -> HTTPResponse {
        guard let image else { return HTTPResponse(404, "There is no frame yet.") }
        let tag = stage.tag(of: image)
        if known?.hasSuffix(tag) == true { return HTTPResponse(304, type: "image/jpeg", .text("")).adding("ETag", tag) }
        do {
            return HTTPResponse(type: "image/jpeg", .frame(try image.jpeg())).adding("ETag", tag)
        } catch {
            return HTTPResponse(404, "The latest frame is damaged: \(error)")
        }
    }

    private func stream(choosing choice: Int?, to client: HTTPConnections.Key) -> HTTPResponse {
        guard stage.audience.admitReader() else { return noPlace }
        let stream = PreviewStream(self, choosing: choice, for: client)
        return HTTPResponse(type: stream.contentType, .stream(stream))
    }

    private var noPlace: HTTPResponse {
        let count = Format.count(stage.audience.maximum, "viewer")
        return HTTPResponse(503, "All places for viewers are taken (\(count)).").adding("Retry-After", "5")
    }
}

/// Who may watch a preview: whoever knows its token, unless it is open to everybody.
///
/// The token is part of the address that is printed. The page's own requests have it in a cookie, so that it is in no
/// address that a browser keeps or shows.
struct PreviewAccess: Sendable {
    /// The token; nil if the preview is open.
    let token: String?
    /// Names by which this machine may be addressed, besides `localhost` and addresses.
    let names: [String]

    /// Returns 128 bits from the system, as text.
    static func makeToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<32).compactMap { _ in "0123456789abcdef".randomElement(using: &generator) })
    }

    /// Whether a text can be a token: 8 to 128 letters, digits, hyphens, dots and underscores, as in an address and a cookie.
    static func isToken(_ text: String) -> Bool {
        (8...128).contains(text.utf8.count) && text.utf8.allSatisfy(isNameByte)
    }

    /// Whether a text can be a host's name in a request, without a port: letters of ASCII, digits, hyphens, underscores and,
    /// not at either end, dots.
    static func isHostName(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count) && !text.hasPrefix(".") && !text.hasSuffix(".")
            && text.utf8.allSatisfy(isNameByte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Checks a request, and returns its path and the cookie that its answer is to set, if any.
    ///
    /// - Throws: The answer to a request that is refused.
    func check(_ request: HTTPRequest) throws(HTTPResponse) -> (path: Substring, cookie: String?) {
        // The absolute form has the authority, which replaces the field, before the path (RFC 9112).
        let isAbsolute = request.target.lowercased().hasPrefix("http://")
        let rest = isAbsolute ? request.target.dropFirst("http://".count) : request.target[...]
        let authority = isAbsolute ? rest.prefix { $0 != "/" } : ""
        let path = rest.count > authority.count ? rest.dropFirst(authority.count) : "/"
        guard let field = request.fields["Host"] else {
            throw HTTPResponse(400, "The request does not have one field Host.")
        }
        guard let port = port(ofHost: isAbsolute ? authority : field[...]) else {
            throw HTTPResponse(421, "This server does not answer to that name; use its address, or --http-name.")
        }
        guard let token else { return (path, nil) }
        // Cookies are shared by all ports of a host. Without a path, the cookie belongs to the directory of the page.
        let name = "framesocket-\(port)="
        if let known = request.arguments["token"], Self.isSame(known, token) {
            return (path, "\(name)\(token); HttpOnly; SameSite=Strict")
        }
        let cookies = (request.fields["Cookie"] ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
        guard cookies.contains(where: { Self.isSame(String($0), name + token) }) else {
            throw HTTPResponse(
                403,
                "Open the address that `framesocket preview` prints when it starts: it ends with ?token= and the token."
                    + " --http-token sets the token, and with --http-open none is needed."
            )
        }
        return (path, nil)
    }

    /// Compares in a time that tells nothing of the token but its length.
    static func isSame(_ text: String, _ token: String) -> Bool {
        let (text, token) = (Array(text.utf8), Array(token.utf8))
        guard text.count == token.count else { return false }
        return zip(text, token).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The port in a requested host that can only be this one, and is not a name that somebody else points here; nil for any
    /// other host.
    ///
    /// A page of another site may look up its own name again, be told this machine's address, and then read from here as if
    /// from its own site (DNS rebinding). The host then has that name, so names other than `localhost` and `names` are
    /// rejected; addresses cannot be obtained in this way. Any port is accepted, since a tunnel may have another.
    func port(ofHost host: Substring) -> UInt16? {
        let isBracketed = host.first == "["
        let end = isBracketed ? host.firstIndex(of: "]").map(host.index(after:)) : host.firstIndex { $0 == ":" }
        let name = host[..<(end ?? host.endIndex)].lowercased()
        let isOurs =
            isBracketed
            ? end != nil && HTTPAddress.bytes(version6: String(name.dropFirst().dropLast())) != nil
            : name == "localhost" || HTTPAddress.bytes(version4: name) != nil
                || names.contains { $0.lowercased() == name }
        let rest = end.map { host[$0...] } ?? ""
        guard isOurs, rest.isEmpty || rest.first == ":" else { return nil }
        return rest.isEmpty ? 80 : UInt16(rest.dropFirst())
    }
}
