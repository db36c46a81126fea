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

    /// Returns what a request waits for before it is answered; nil if it is answered at once.
    ///
    /// A page asks for the image after the one that it has, and is answered when that arrives.
    func wait(for request: HTTPRequest) -> HTTPWait? {
        guard request.path == "/snapshot.jpg", let seconds = request.patience, refusal(of: request) == nil,
            !hasNews(for: request)
        else { return nil }
        // If there is no place for it, the answer says so.
        if let page = request.page, !stage.audience.admit(page: page) { return nil }
        return stage.audience.wait(atMost: seconds, page: request.page) { hasNews(for: request) }
    }

    /// Whether a request for an image has an answer other than that there is no new one yet.
    private func hasNews(for request: HTTPRequest) -> Bool {
        if stage.audience.isClosed { return true }
        guard request.sender == nil || request.choice != nil else { return true }
        let sender = stage.state.sender(request.choice)
        guard let image = sender?.image else { return request.choice != nil && sender == nil }
        return !request.knows(stage.tag(of: image))
    }

    /// Answers a request.
    func answer(_ request: HTTPRequest) -> HTTPResponse {
        var response = refusal(of: request) ?? content(for: request)
        response.fields += Self.protection
        return response
    }

    private func refusal(of request: HTTPRequest) -> HTTPResponse? {
        guard request.hostCount <= 1 else {
            return HTTPResponse(status: 400, "The request has several fields Host.")
        }
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
        case "/snapshot.jpg": counting(request) { chosen(by: request) { snapshot(choosing: $0, request) } }
        case "/stream": chosen(by: request) { stream(choosing: $0) }
        default: HTTPResponse(status: 404, "Not found; the page is at /.")
        }
    }

    private static func file(_ type: String, _ text: String) -> HTTPResponse {
        HTTPResponse(type: type, body: .bytes(Array(text.utf8)))
    }

    /// Answers for the sender that the query names by its connection number; without one, for the latest.
    private func chosen(by request: HTTPRequest, _ answer: (Int?) -> HTTPResponse) -> HTTPResponse {
        if stage.audience.isClosed { return HTTPResponse(status: 410, "The preview has ended.") }
        guard request.sender != nil else { return answer(nil) }
        guard let number = request.choice else {
            return HTTPResponse(status: 400, "The sender in a query is the number of a connection, such as sender=1.")
        }
        guard stage.state.sender(number) != nil else {
            return HTTPResponse(status: 404, "Sender \(number) is not connected.")
        }
        return answer(number)
    }

    /// Answers a page that asks for one image after another only if it has a place.
    private func counting(_ request: HTTPRequest, _ answer: () -> HTTPResponse) -> HTTPResponse {
        guard let page = request.page else { return answer() }
        guard stage.audience.admit(page: page) || stage.audience.isClosed else { return noPlace }
        var response = answer()
        let audience = stage.audience
        response.finished = { audience.answered(page) }
        return response
    }

    private var noPlace: HTTPResponse {
        let count = Format.count(stage.audience.maximum, "viewer")
        return HTTPResponse(status: 503, "All places for viewers are taken (\(count)).").adding("Retry-After", "5")
    }

    private func state(choosing choice: Int?) -> HTTPResponse {
        let text = stage.state.json(
            choosing: choice,
            endpoint: endpoint,
            audience: stage.audience,
            at: MonotonicClock.now()
        )
        return Self.file("application/json", text + "\n")
    }

    private func snapshot(choosing choice: Int?, _ request: HTTPRequest) -> HTTPResponse {
        guard let image = stage.state.sender(choice)?.image else {
            // Who has waited has not asked in vain.
            guard request.patience == nil else {
                return HTTPResponse(status: 204, type: "image/jpeg", body: .bytes([]))
            }
            return HTTPResponse(status: 404, "There is no frame yet.")
        }
        let tag = stage.tag(of: image)
        guard !request.knows(tag) else {
            return HTTPResponse(status: 304, type: "image/jpeg", body: .bytes([])).adding("ETag", "\"\(tag)\"")
        }
        do {
            return HTTPResponse(type: "image/jpeg", body: .frame(try image.jpeg())).adding("ETag", "\"\(tag)\"")
        } catch {
            return HTTPResponse(status: 404, "The latest frame is damaged: \(error)")
        }
    }

    private func stream(choosing choice: Int?) -> HTTPResponse {
        let viewer = PreviewViewer(of: stage, choosing: choice)
        guard let stream = stage.audience.admit(viewer) else { return noPlace }
        return HTTPResponse(type: viewer.contentType, body: .stream(stream))
    }
}

extension HTTPRequest {
    /// The number of the connection whose sender is selected; nil if none is, or if that is no such number.
    fileprivate var choice: Int? {
        sender.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    }

    /// The name that a page has given itself; nil for other programs.
    fileprivate var page: String? {
        viewer.flatMap { (1...32).contains($0.utf8.count) ? $0 : nil }
    }
}
