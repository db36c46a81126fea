import FrameSocket

/// Where `framesocket receive` listens.
enum ListeningPlace {
    case at(SocketEndpoint)
    /// A socket that the service manager created and passed: the one with this name, or the only one.
    case passed(name: String?)

    /// Parses the options that concern the place, after all others have been taken.
    init(_ arguments: inout Arguments) throws(UsageError) {
        let isPassed = arguments.flag("--systemd")
        let name = try arguments.value("--socket-name")
        let paths = try arguments.rest()
        if isPassed {
            guard paths.isEmpty else { throw UsageError(message: "--systemd and a path are mutually exclusive") }
            self = .passed(name: name)
            return
        }
        guard name == nil else { throw UsageError(message: "--socket-name requires --systemd") }
        guard paths.count == 1, let path = paths.first else {
            throw UsageError(message: "receive expects one path to listen at")
        }
        self = .at(try Arguments.endpoint(path))
    }

    /// Whether a service manager created the socket.
    var isPassed: Bool {
        if case .passed = self { true } else { false }
    }

    /// Starts listening there.
    func server(_ configuration: FrameServer.Configuration) throws(TransportError) -> FrameServer? {
        switch self {
        case .at(let endpoint):
            return try FrameServer(at: endpoint, configuration: configuration)
        case .passed(let name):
            let sockets = try FrameServer.InheritedSocket.passed().filter { name == nil || $0.name == name }
            guard sockets.count == 1, let socket = sockets.first else { return nil }
            return try FrameServer(inheriting: socket, configuration: configuration)
        }
    }

    /// Explains why ``server(_:)`` returned no server.
    var complaint: String {
        let sockets = (try? FrameServer.InheritedSocket.passed()) ?? []
        if sockets.isEmpty {
            if let process = ServiceManager.value("LISTEN_PID").flatMap(Int32.init),
                process != FrameServer.InheritedSocket.processID,
                ServiceManager.value("LISTEN_FDS") != nil
            {
                return "the sockets were passed to process \(process) (LISTEN_PID), and this is process "
                    + "\(FrameServer.InheritedSocket.processID); start the command without a shell, or with exec: sh -c 'exec framesocket …'"
            }
            return
                "no socket was passed (LISTEN_FDS); start the command from a .socket unit or with "
                + "systemd-socket-activate"
        }
        let names = sockets.map { $0.name ?? "?" }.joined(separator: ", ")
        guard case .passed(let name?) = self else {
            return "\(Format.count(sockets.count, "socket")) passed (\(names)); name one with --socket-name"
        }
        let count = sockets.count { $0.name == name }
        let found = count == 0 ? "no socket" : "\(count) sockets"
        return "--socket-name \(name): \(found) passed with this name (\(names))"
    }
}
