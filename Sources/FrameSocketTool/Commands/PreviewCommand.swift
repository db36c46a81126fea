import FrameSocket
import Locking

/// `framesocket preview`: listens at a path and serves a page that shows the stream.
struct PreviewCommand: Command {
    static let name = "preview"
    static let summary = "listen at a path and show the stream in a browser"
    static let help = """
        Usage: framesocket preview PATH [options]

        Listens at PATH, or at tcp:PORT on this machine, and serves a page that shows
        the latest sender's stream upright, with its size, rate and latency. Open the
        address that it prints: the token in it lets a browser in, which then keeps it
        in a cookie. Besides the page (/) it serves /snapshot.jpg, /stream
        (multipart/x-mixed-replace, for an <img>) and /state (JSON), for programs with
        ?token=TOKEN. If there are several senders, the page offers a choice; sender=N
        in the query selects the one of connection N. The page shows the whole image;
        with mode=fill it fills the window and is cropped, with mode=stretch it is
        stretched.

          --http ADDRESS   address to serve the page at (127.0.0.1:8080); port 0 picks a
                           free one
          --http-token T   the token, 8 to 128 letters, digits, '-', '.' and '_', in
                           place of a random one; other users can see it in the list of
                           processes
          --http-open      allow everybody to watch without a token: other users of this
                           machine and, at any address but 127.x.x.x and [::1], other
                           machines. There is no encryption
          --http-name N    also answer to the host name N
          --viewers N      maximum number of viewers, 1 to 256 (16)
          --lenient        also rotate JPEGs that deviate from the format in ways that
                           libjpeg-turbo reads; upright ones are shown in any case
          --json           print one JSON object per line for each event
        \(HandshakeTokenFiles.help)
          --quiet          print nothing but failures on standard error

        Examples:
          framesocket preview PATH
          framesocket preview PATH --http 0.0.0.0:8080 --http-open
        """

    /// Connections of a viewer: a page asks for images on one, and for the state on another.
    private static let connectionsPerViewer = 2
    /// Connections besides the viewers': pages that open or that nobody sees, and programs that ask once.
    private static let furtherConnections = 32

    let endpoint: SocketEndpoint
    let tokens: HandshakeTokenFiles?
    let address: HTTPAddress
    let access: PreviewAccess
    let viewers: Int
    let isLenient: Bool
    let isJSON: Bool
    let isQuiet: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        let text = try arguments.value("--http") ?? "127.0.0.1:8080"
        guard let address = HTTPAddress(text), address.isAddress, address.hasPort else {
            throw UsageError(
                message: "invalid value '\(text)' for --http: expected an address and a port such as 127.0.0.1:8080"
            )
        }
        self.address = address
        let isOpen = arguments.flag("--http-open")
        let token = try arguments.value("--http-token", "8 to 128 letters, digits, '-', '.' or '_'") { text in
            text.isPlain(8...128) ? text : nil
        }
        guard !isOpen || token == nil else {
            throw UsageError(message: "--http-open and --http-token are mutually exclusive")
        }
        let name = try arguments.value("--http-name", "a host name such as screen.example, without a port") { text in
            HTTPAddress(text).flatMap { $0.hasPort ? nil : $0.host }
        }
        access = PreviewAccess(
            token: isOpen ? nil : token ?? PreviewAccess.makeToken(),
            names: (name.map { [$0] } ?? []) + (isOpen ? Self.ownNames : [])
        )
        viewers = try arguments.integer("--viewers", in: 1...256) ?? 16
        tokens = try arguments.tokens()
        isLenient = arguments.flag("--lenient")
        isJSON = arguments.flag("--json")
        isQuiet = arguments.flag("--quiet")
        guard address.isLoopback || isOpen else {
            throw UsageError(message: "\(address) is reachable from other machines; add --http-open to allow that")
        }
        guard isOpen || token != nil || isJSON || !isQuiet else {
            throw UsageError(message: "with --quiet, the token would not be printed; add --http-token or --http-open")
        }
        let paths = try arguments.rest()
        guard paths.count == 1, let path = paths.first else {
            throw UsageError(message: "preview expects one path to listen at")
        }
        endpoint = try Arguments.endpoint(path)
    }

    func run() async throws(CommandFailure) {
        let stage = PreviewStage(maximumViewers: viewers, limits: isLenient ? .lenient : JPEGDecoder.Limits())
        let listening = Listening()
        let page = Locked<HTTPServer?>(nil)
        // Without its events the preview ends, though not without a reader, since it has viewers.
        let reporter = Reporter("preview", isJSON: isJSON, isQuiet: isQuiet) { failure in
            if !failure.isBrokenPipe { listening.finish(failure) }
        }
        try await listening.run { () throws(CommandFailure) in
            let server = try start(stage, page, listening, reporter)
            // Rotating images takes a while, and must hold up neither the sockets nor Swift's pool.
            try await listening.serve(server) { connection in
                await stage.follow(connection) { reporter.report($0) }
            }
        } ending: {
            await stage.close()
            await page.withLock { $0 }?.stop()
            return false
        }
    }

    /// Starts both servers; if the port is in use, nothing stays at the path.
    private func start(
        _ stage: PreviewStage,
        _ page: Locked<HTTPServer?>,
        _ listening: Listening,
        _ reporter: Reporter
    ) throws(CommandFailure) -> FrameServer {
        let maximum = viewers * Self.connectionsPerViewer + Self.furtherConnections
        // A page server that cannot accept a connection would retry again and again.
        let pages = HTTPServer.hardMaximum(maximum)
        let server = try listening.server(at: .at(endpoint), tokens, reporter, beside: pages) { configuration in
            configuration.delivery = .newest
            // Senders report that they are paused only if asked to.
            configuration.hello = ControlRequest.Hello()
        }
        let routes = PreviewRoutes(stage: stage, access: access, endpoint: server.endpoint)
        let pageServer = try HTTPServer(maximumConnections: maximum) { routes.answer($0) }
        page.withLock { $0 = pageServer }
        let address = try pageServer.start(at: address)
        listening.every(.milliseconds(500)) { pageServer.closeLate() }
        reporter.report(.listening(at: server.endpoint))
        let url = address.url + (access.token.map { "?token=" + $0 } ?? "")
        var line = JSONLine(event: "preview")
        line.add("url", url)
        line.add("port", address.port)
        reporter.print(line)
        // To people, unless scripts have been told.
        reporter.say("preview at \(url)")
        return server
    }

    /// The host names by which other machines may address this one.
    private static var ownNames: [String] {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return [] }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).lowercased()
        return [text, text + ".local"]
    }
}
