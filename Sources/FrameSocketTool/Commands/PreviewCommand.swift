import FrameSocket
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// `framesocket preview`: listens at a path, and serves a page that shows what comes.
struct PreviewCommand: Command {
    static let name = "preview"
    static let summary = "listen at a path and show what comes in a browser"
    static let help = """
        Usage: framesocket preview PATH [options]

        Listens at PATH, or at tcp:PORT of this machine, and serves a page that shows
        the picture of the latest sender, upright, with its size, rate and latency.
        Beside the page (/) there are /stream (multipart/x-mixed-replace, for an <img>),
        /snapshot.jpg and /state (JSON). With several senders the page lets the viewer
        choose; ?sender=N behind an address chooses the one of connection N.

          --http ADDRESS   where to serve the page (127.0.0.1:8080); port 0 picks a free
                           one
          --http-open      let everybody look: other users of this machine, and, which
                           any address but 127.x.x.x and [::1] needs, other machines.
                           There is no password and no encryption
          --http-name N    answer to the host name N as well
          --viewers N      how many may look at once, 1 to 256 (16)
          --json           print one JSON object a line for each event
          --token-file F   show the bytes of F before the first frame, and expect them
          --peer-token-file F
                           expect the bytes of F instead
          --quiet          tell nothing on standard error but failures
        """

    /// Where the page is unless told otherwise.
    static let standardAddress = "127.0.0.1:8080"
    /// Beside the viewers: pages that ask for the state, and programs that look once.
    static let furtherConnections = 32

    let endpoint: SocketEndpoint
    let tokens: HandshakeTokenFiles?
    let address: HTTPAddress
    let isOpen: Bool
    let names: [String]
    let viewers: Int
    let isJSON: Bool
    let isQuiet: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        let text = try arguments.value("--http") ?? Self.standardAddress
        guard let address = HTTPAddress(text) else {
            throw UsageError(message: "--http wants an address and a port such as 127.0.0.1:8080, not \"\(text)\"")
        }
        self.address = address
        isOpen = arguments.flag("--http-open")
        names = try arguments.value("--http-name").map { [$0] } ?? []
        viewers = try arguments.integer("--viewers", in: 1...256) ?? 16
        tokens = try arguments.tokens()
        isJSON = arguments.flag("--json")
        isQuiet = arguments.flag("--quiet")
        guard address.isLoopback || isOpen else {
            throw UsageError(message: "\(address) is open to other machines; --http-open says that this is meant")
        }
        let paths = try arguments.rest()
        guard paths.count == 1, let path = paths.first else {
            throw UsageError(message: "preview wants one path to listen at")
        }
        endpoint = try Arguments.endpoint(path)
    }

    func run() async throws(CommandFailure) {
        let stage = PreviewStage(maximumViewers: viewers)
        let service = Locked(PreviewService())
        let outcome: Result<Void, CommandFailure> = await Interruption.around {
            do throws(CommandFailure) {
                let server = try start(stage, service)
                return await Preview(stage, report: report).follow(server)
            } catch {
                return .failure(error)
            }
        } end: {
            // Where they are being made just now, the lock waits for them: the socket's file has to go.
            let service = service.withLock { $0 }
            stage.close()
            service.server?.close()
            await stage.emptied()
            service.page?.stop()
            try? await service.server?.closed()
        }
        try outcome.get()
    }

    /// Starts both servers; a port in use leaves nothing at the path.
    private func start(
        _ stage: PreviewStage,
        _ service: Locked<PreviewService>
    ) throws(CommandFailure) -> FrameServer {
        var configuration = FrameServer.Configuration()
        configuration.tokens = try tokens?.read()
        configuration.delivery = .newest
        // A server of pages that cannot accept a connection would try again and again.
        configuration.limits.connections = try ProcessLimits.places(
            configuration.limits.connections,
            beside: ProcessLimits.laterDescriptors + viewers + Self.furtherConnections
        )
        // Whoever says whether it is paused says so only to those who ask.
        configuration.hello = ControlHello()
        let page: HTTPServer
        let server: FrameServer
        (page, server) = try service.withLock { service throws(CommandFailure) in
            let server: FrameServer
            do throws(TransportError) {
                server = try FrameServer(at: endpoint, configuration: configuration)
            } catch {
                throw CommandFailure(ExitCode(error), error.description)
            }
            service.server = server
            let isChecked = !isOpen && HTTPClient.isKnown
            let routes = PreviewRoutes(
                stage: stage,
                endpoint: server.endpoint,
                names: names + ownNames,
                user: isChecked ? geteuid() : nil
            )
            let clients = HTTPConnections(identifiesClients: isChecked, refusal: routes.refusal)
            let page = try HTTPServer(
                at: address,
                connections: viewers + Self.furtherConnections,
                clients: clients,
                answer: routes.answer
            )
            stage.tends { clients.closeLate() }
            service.page = page
            return (page, server)
        }
        report(.listening(at: server.endpoint))
        reportPage(page.address)
        return server
    }

    /// What other machines may call this one.
    private var ownNames: [String] {
        guard isOpen else { return [] }
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return [] }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return [text, text + ".local"]
    }

    // MARK: Telling

    @Sendable private func report(_ event: Reception.Event) {
        tell(event.json, event.sentence)
    }

    private func reportPage(_ address: HTTPAddress) {
        var line = JSONLine(event: "preview")
        line.add("url", address.url)
        line.add("port", address.port)
        tell(line.text, "the picture is at \(address.url)")
    }

    /// Tells scripts and people; a script that has gone is no reason to end, as there are those who look.
    private func tell(_ json: String, _ sentence: String?) {
        if isJSON {
            try? Terminal.print(json)
        } else if !isQuiet, let sentence {
            Terminal.say(sentence)
        }
    }
}

/// What has to be ended: where senders connect, and where the page is.
private struct PreviewService: Sendable {
    var server: FrameServer?
    var page: HTTPServer?
}
