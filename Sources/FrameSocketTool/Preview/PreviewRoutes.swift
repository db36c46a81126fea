import FrameSocket

/// The preview's answer to each request.
struct PreviewRoutes: Sendable {
    let stage: PreviewStage
    /// Where senders connect.
    let endpoint: SocketEndpoint
    /// Names by which this machine may be addressed, besides `localhost` and addresses.
    let names: [String]
    /// The user who may watch, besides root; nil for everybody.
    let user: UInt32?

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
        var response = refusal(of: request) ?? content(for: request)
        response.fields += Self.protection
        return response
    }

    private func refusal(of request: HTTPRequest) -> HTTPResponse? {
        guard request.isForThisHost(named: names) else {
            return HTTPResponse(
                status: 421,
                "This server does not answer to that name; use its address, or --http-name."
            )
        }
        if let refusal = refusal(of: request.userID) { return refusal }
        // Other sites may only link to the page.
        guard !request.isFromElsewhere || request.path == "/" else {
            return HTTPResponse(status: 403, "Pages of other sites may not request this.")
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            return HTTPResponse(status: 405, "Method not allowed; use GET or HEAD.").adding("Allow", "GET, HEAD")
        }
        return nil
    }

    /// The answer to a user's program that is not allowed to watch; nil if it is.
    func refusal(of userID: UInt32?) -> HTTPResponse? {
        guard let user, userID != user, userID != 0 else { return nil }
        let sentence = "Only the user who started this preview may watch, unless it is started with --http-open."
        return HTTPResponse(status: 403, sentence)
    }

    private func content(for request: HTTPRequest) -> HTTPResponse {
        switch request.path {
        case "/": Self.file("text/html; charset=utf-8", PreviewPage.html)
        case "/preview.css": Self.file("text/css; charset=utf-8", PreviewPage.css)
        case "/preview.js": Self.file("text/javascript; charset=utf-8", PreviewPage.script)
        case "/icon.svg": Self.file("image/svg+xml", PreviewPage.icon)
        case "/state": chosen(by: request) { state(choosing: $0) }
        case "/snapshot.jpg": chosen(by: request) { snapshot(choosing: $0) }
        case "/stream": chosen(by: request) { stream(choosing: $0) }
        default: HTTPResponse(status: 404, "Not found; the page is at /.")
        }
    }

    private static func file(_ type: String, _ text: String) -> HTTPResponse {
        HTTPResponse(type: type, body: .bytes(Array(text.utf8)))
    }

    /// Answers for the sender that the query names by its connection number; without one, for the latest.
    private func chosen(by request: HTTPRequest, _ answer: (Int?) -> HTTPResponse) -> HTTPResponse {
        guard let text = request.sender else { return answer(nil) }
        guard let number = Int(text), number > 0 else {
            return HTTPResponse(status: 400, "The sender in a query is the number of a connection, such as sender=1.")
        }
        guard stage.state.sender(number) != nil else {
            return HTTPResponse(status: 404, "Sender \(number) is not connected.")
        }
        return answer(number)
    }

    private func state(choosing choice: Int?) -> HTTPResponse {
        let text = stage.state.json(
            choosing: choice,
            endpoint: endpoint,
            maximumViewers: stage.maximumViewers,
            at: MonotonicClock.now()
        )
        return Self.file("application/json", text + "\n")
    }

    private func snapshot(choosing choice: Int?) -> HTTPResponse {
        guard let image = stage.state.sender(choice)?.image else {
            return HTTPResponse(status: 404, "There is no frame yet.")
        }
        do {
            return HTTPResponse(type: "image/jpeg", body: .frame(try image.jpeg()))
        } catch {
            return HTTPResponse(status: 404, "The latest frame is damaged: \(error)")
        }
    }

    private func stream(choosing choice: Int?) -> HTTPResponse {
        guard let seat = stage.admit(choosing: choice) else {
            let count = Format.count(stage.maximumViewers, "viewer")
            return HTTPResponse(status: 503, "All places for viewers are taken (\(count)).").adding(
                "Retry-After",
                "5"
            )
        }
        return HTTPResponse(type: seat.contentType, body: .stream(seat.stream))
    }
}
