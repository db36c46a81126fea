import FrameSocket

/// Where `framesocket receive` listens.
enum ListeningPlace {
    case at(SocketEndpoint)
    /// On a socket that the service manager made and passed: the one of that name, or the only one.
    case passed(name: String?)

    /// Takes the options that concern it, once all others are taken.
    init(_ arguments: inout Arguments) throws(UsageError) {
        let isPassed = arguments.flag("--systemd")
        let name = try arguments.value("--socket-name")
        let paths = try arguments.rest()
        if isPassed {
            guard paths.isEmpty else { throw UsageError(message: "--systemd brings its own socket, and wants no path") }
            self = .passed(name: name)
            return
        }
        guard name == nil else { throw UsageError(message: "--socket-name goes with --systemd") }
        guard paths.count == 1, let path = paths.first else {
            throw UsageError(message: "receive wants one path to listen at")
        }
        self = .at(try Arguments.endpoint(path))
    }

    /// Whether a service manager made the socket.
    var isPassed: Bool {
        if case .passed = self { true } else { false }
    }

    /// Starts to listen there.
    func server(_ configuration: FrameServer.Configuration) throws(TransportError) -> FrameServer? {
        switch self {
        case .at(let endpoint):
            return try FrameServer(at: endpoint, configuration: configuration)
        case .passed(let name):
            let sockets = try InheritedSocket.passed().filter { name == nil || $0.name == name }
            guard sockets.count == 1, let socket = sockets.first else { return nil }
            return try FrameServer(inheriting: socket, configuration: configuration)
        }
    }

    /// Why there is no server where ``server(_:)`` gave none.
    var complaint: String {
        let sockets = (try? InheritedSocket.passed()) ?? []
        if sockets.isEmpty {
            return "no socket was passed (LISTEN_FDS); start it by a .socket unit, or by systemd-socket-activate"
        }
        let names = sockets.map { $0.name ?? "?" }.joined(separator: ", ")
        return "\(Format.count(sockets.count, "socket")) passed (\(names)); name one with --socket-name"
    }
}
