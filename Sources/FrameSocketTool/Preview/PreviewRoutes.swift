import FrameSocket

/// The preview's answer to each request.
struct PreviewRoutes: Sendable {
    let stage: PreviewStage
    let access: PreviewAccess
    /// Where senders connect.
    let endpoint: SocketEndpoint

    /// How long a request for an image waits at most for another one than the page has.
    private static let longestWait = Duration.seconds(1)
    /// How long a page keeps its place after an answer without asking again.
    private static let pageLifetime = Duration.seconds(5)

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

    /// Answers a request.
    func answer(_ request: HTTPRequest) -> HTTPResponse {
        var response: HTTPResponse
        do throws(HTTPResponse) {
            let (path, cookie) = try access.check(request)
            response = content(path, request)
            if let cookie { response = response.adding("Set-Cookie", cookie) }
        } catch {
            // Whoever may not watch keeps no connection from others.
            response = error.adding("Connection", "close")
        }
        response.fields += Self.protection
        return response
    }

    private func content(_ path: Substring, _ request: HTTPRequest) -> HTTPResponse {
        // As mjpg-streamer has them.
        let action = path == "/" ? request.arguments["action"] : nil
        // Other sites may only link to the page.
        let isFromElsewhere = ["cross-site", "same-site"].contains(request.fields["sec-fetch-site"])
        guard !isFromElsewhere || path == "/" && action == nil else {
            return HTTPResponse(403, text: "Pages of other sites may not request this.\n")
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            return HTTPResponse(405, text: "Method not allowed; use GET or HEAD.\n").adding("Allow", "GET, HEAD")
        }
        switch (path, action) {
        case ("/", nil): return HTTPResponse(type: "text/html; charset=utf-8", text: PreviewPage.html)
        case ("/preview.css", _): return HTTPResponse(type: "text/css; charset=utf-8", text: PreviewPage.css)
        case ("/preview.js", _): return HTTPResponse(type: "text/javascript; charset=utf-8", text: PreviewPage.script)
        case ("/icon.svg", _): return HTTPResponse(type: "image/svg+xml", text: PreviewPage.icon)
        case ("/state", _):
            return chosen(by: request) { choice in
                let text = stage.state.json(choosing: choice, endpoint: endpoint, maximumViewers: stage.maximumViewers)
                return HTTPResponse(type: "application/json", text: text + "\n")
            }
        case ("/image", _): return chosen(by: request) { image(choosing: $0, request) }
        case ("/snapshot.jpg", _), ("/", "snapshot"):
            return chosen(by: request) { jpeg(stage.state.sender($0)?.image, known: request.fields["if-none-match"]) }
        case ("/stream", _), ("/", "stream"):
            return chosen(by: request) { choice in
                guard let stream = PreviewStream(stage, choosing: choice) else { return noPlace }
                return HTTPResponse(type: stream.type, stream.start) { stream.next(unless: $0) }
            }
        default: return HTTPResponse(404, text: "Not found; the page is at /.\n")
        }
    }

    /// Answers for the sender that the query names by its connection number; without one, for the latest.
    private func chosen(by request: HTTPRequest, _ answer: (Int?) -> HTTPResponse) -> HTTPResponse {
        let state = stage.state
        if state.isClosed { return HTTPResponse(410, text: "The preview has ended.\n") }
        guard let sender = request.arguments["sender"] else { return answer(nil) }
        guard let number = Int(sender), number > 0 else {
            return HTTPResponse(400, text: "The sender in a query is the number of a connection, such as sender=1.\n")
        }
        guard state.sender(number) != nil else {
            return HTTPResponse(404, text: "Sender \(number) is not connected.\n")
        }
        return answer(number)
    }

    /// Answers a page that asks for one image after another, if it has a place, when there is another one than it has.
    ///
    /// A browser has six connections for all of its pages: the more viewers there are, the sooner each is answered without an
    /// image, so that the next request of every page, and that for its state, gets through within a second.
    private func image(choosing choice: Int?, _ request: HTTPRequest) -> HTTPResponse {
        let page = request.arguments["viewer"].flatMap { (1...32).contains($0.utf8.count) ? $0 : nil }
        if let page, !stage.admit(page), !stage.state.isClosed { return noPlace }
        defer { if let page { stage.keep(page, for: Self.pageLifetime) } }
        let known = request.fields["if-none-match"]
        stage.wait(atMost: Self.longestWait / max(1, stage.state.viewers)) { state in
            guard let image = state.image(choice) else { return choice != nil && state.sender(choice) == nil }
            return known?.hasSuffix(image.tag) != true
        }
        return chosen(by: request) { choice in
            guard let image = stage.state.image(choice) else { return HTTPResponse(204, type: "image/jpeg") }
            return jpeg(image, known: known)
        }
    }

    private func jpeg(_ image: PreviewImage?, known: String?) -> HTTPResponse {
        guard let image else { return HTTPResponse(404, text: "There is no frame yet.\n") }
        if known?.hasSuffix(image.tag) == true {
            return HTTPResponse(304, type: "image/jpeg").adding("ETag", image.tag)
        }
        do {
            return HTTPResponse(type: "image/jpeg", try image.jpeg()).adding("ETag", image.tag)
        } catch {
            return HTTPResponse(404, text: "The latest frame cannot be rotated upright: \(error.advice)\n")
        }
    }

    private var noPlace: HTTPResponse {
        let count = Format.count(stage.maximumViewers, "viewer")
        return HTTPResponse(503, text: "All places for viewers are taken (\(count)).\n").adding("Retry-After", "5")
    }
}

/// Who may watch a preview: whoever knows its token, unless it is open to everybody.
///
/// The token is part of the address that is printed. The page's own requests have it in a cookie, so that it is in no
/// address that a browser keeps or shows.
struct PreviewAccess: Sendable {
    /// The token; nil if the preview is open.
    let token: String?
    /// Names by which this machine may be addressed, in lower case, besides `localhost` and addresses.
    let names: [String]

    /// Returns 128 bits from the system, as text.
    static func makeToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<32).compactMap { _ in "0123456789abcdef".randomElement(using: &generator) })
    }

    /// Checks a request, and returns its path and the cookie that its answer is to set, if any.
    ///
    /// A page of another site may look up its own name again, be told this machine's address, and then read from here as if
    /// from its own site (DNS rebinding). The host then has that name, so names other than this machine's are refused;
    /// addresses cannot be obtained in this way. Any port is accepted, since a tunnel may have another.
    ///
    /// - Throws: The answer to a request that is refused.
    func check(_ request: HTTPRequest) throws(HTTPResponse) -> (path: Substring, cookie: String?) {
        // The absolute form has the authority, which replaces the field, before the path (RFC 9112).
        let isAbsolute = request.target.lowercased().hasPrefix("http://")
        let rest = isAbsolute ? request.target.dropFirst("http://".count) : request.target[...]
        let authority = isAbsolute ? rest.prefix { $0 != "/" } : ""
        let path = rest.count > authority.count ? rest.dropFirst(authority.count) : "/"
        guard let field = request.fields["host"] else {
            throw HTTPResponse(400, text: "The request does not have one field Host.\n")
        }
        guard let host = HTTPAddress(isAbsolute ? authority : field[...]),
            host.isAddress || names.contains(host.host)
        else {
            let advice = "use its address, or --http-name"
            throw HTTPResponse(421, text: "This server does not answer to that name; \(advice).\n")
        }
        guard let token else { return (path, nil) }
        // Cookies are shared by all ports of a host. Without a path, the cookie belongs to the directory of the page.
        let name = "framesocket-\(host.port)="
        if let known = request.arguments["token"], Self.isSame(known, token) {
            return (path, "\(name)\(token); HttpOnly; SameSite=Strict")
        }
        let cookies = (request.fields["cookie"] ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
        guard cookies.contains(where: { Self.isSame(String($0), name + token) }) else {
            let advice = "Open the address that `framesocket preview` prints when it starts: it ends with ?token= and "
            let others = "the token. --http-token sets the token, and with --http-open none is needed.\n"
            throw HTTPResponse(403, text: advice + others)
        }
        return (path, nil)
    }

    /// Compares in a time that tells nothing of the token but its length.
    static func isSame(_ text: String, _ token: String) -> Bool {
        let (text, token) = (Array(text.utf8), Array(token.utf8))
        guard text.count == token.count else { return false }
        return zip(text, token).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
