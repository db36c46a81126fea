extension FrameServer {
    /// A listening socket inherited from a service manager, which created it and keeps it.
    ///
    /// ```swift
    /// if let socket = try FrameServer.InheritedSocket.passed().first {
    ///     let server = try FrameServer(inheriting: socket)
    /// }
    /// ```
    public struct InheritedSocket: Sendable, Hashable {
        /// The file descriptor in this process.
        public let descriptor: Int32

        /// The name given by the service manager (`FileDescriptorName=` in systemd); nil if none.
        public let name: String?

        /// Creates an inherited socket from a known descriptor.
        public init(descriptor: Int32, name: String? = nil) {
            self.descriptor = descriptor
            self.name = name
        }

        /// The ID of this process, for which `LISTEN_PID` is compared.
        package static var processID: Int32 { Syscalls.processID }

        /// Returns the sockets that systemd has passed to this process, as specified by sd_listen_fds(3); empty if there
        /// are none.
        ///
        /// `LISTEN_PID` must be the ID of this process, `LISTEN_FDS` is the number of sockets, from descriptor 3, and
        /// `LISTEN_FDNAMES` lists their names. The descriptors are set to close on exec. Every call returns the same
        /// sockets; each may be taken over once.
        ///
        /// - Throws: `unfitSocket` if the count is invalid or a descriptor is not open.
        public static func passed() throws(TransportError) -> [InheritedSocket] {
            try passed(from: Syscalls.firstPassed, Syscalls.environment)
        }

        /// Returns the sockets with descriptors from `first`, and the variables from `environment`.
        package static func passed(
            from first: Int32,
            _ environment: (String) -> String?
        ) throws(TransportError) -> [InheritedSocket] {
            guard let process = environment("LISTEN_PID"), process == String(Syscalls.processID),
                let text = environment("LISTEN_FDS")
            else { return [] }
            guard let count = Int32(text), (0...Syscalls.maximumPassed).contains(count) else {
                throw TransportError(.unfitSocket, "invalid LISTEN_FDS '\(text)': expected a number of descriptors")
            }
            let names = environment("LISTEN_FDNAMES").map(Self.names) ?? []
            var sockets: [InheritedSocket] = []
            for index in 0..<count {
                let descriptor = first + index
                do {
                    try Syscalls.setCloseOnExec(descriptor)
                } catch {
                    throw TransportError(
                        .unfitSocket,
                        underlyingErrno: error.rawValue,
                        "LISTEN_FDS announces \(count) descriptors, but descriptor \(descriptor) is not open"
                    )
                }
                let name = names.count == count ? names[sockets.count] : nil
                sockets.append(InheritedSocket(descriptor: descriptor, name: name))
            }
            return sockets
        }

        private static func names(_ text: String) -> [String] {
            text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        }

        /// Returns the endpoint at which the socket listens.
        ///
        /// - Throws: `unfitSocket` if it is not a stream socket that listens at a path or at a port of the loopback
        ///   address.
        func endpoint() throws(TransportError) -> SocketEndpoint {
            let found: Syscalls.Listener
            do {
                found = try Syscalls.listener(descriptor)
            } catch {
                throw TransportError(
                    .unfitSocket,
                    underlyingErrno: error.rawValue,
                    "descriptor \(descriptor) is not a socket"
                )
            }
            guard found.isStream else {
                throw unfit("is of type datagram or packet; frames need a stream socket (ListenStream= of systemd)")
            }
            guard found.isListening else {
                throw unfit(
                    "does not listen; remove Accept=yes from the systemd unit, which passes connections instead"
                )
            }
            switch found.address {
            case .path(let path): return .path(path)
            case .loopback(let port): return .loopback(port: port)
            case .other: throw unfit("listens neither at a path nor at a port of 127.0.0.1")
            }
        }

        private func unfit(_ reason: String) -> TransportError {
            TransportError(.unfitSocket, "the inherited socket (descriptor \(descriptor)) \(reason)")
        }
    }
}
