/// Listening TCP sockets.
enum HTTPListener {
    /// Creates a listening socket, and returns its address with the actual port if port 0 was requested.
    ///
    /// - Throws: `unavailable` if the port is in use, `cannotCreate` for everything else.
    static func make(at wanted: HTTPAddress) throws(CommandFailure) -> (descriptor: Int32, address: HTTPAddress) {
        let descriptor = try open(wanted)
        var address = wanted
        address.port = port(of: descriptor) ?? wanted.port
        return (descriptor, address)
    }

    private static func open(_ wanted: HTTPAddress) throws(CommandFailure) -> Int32 {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        #if canImport(Glibc)
            unsafe hints.ai_socktype = Int32(truncatingIfNeeded: SOCK_STREAM.rawValue)
        #else
            unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(wanted.host, String(wanted.port), &hints, &found) == 0, let found = unsafe found else {
            throw CommandFailure(.cannotCreate, "cannot listen at \(wanted): not an address of this machine")
        }
        defer { unsafe freeaddrinfo(found) }
        let descriptor = unsafe socket(found.pointee.ai_family, found.pointee.ai_socktype, found.pointee.ai_protocol)
        guard descriptor >= 0 else { throw CommandFailure(.cannotCreate, Files.Failure("\(wanted)").message) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        var yes: Int32 = 1
        // So that connections that ended a moment ago do not keep the port.
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard unsafe bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0,
            listen(descriptor, 64) == 0
        else {
            let isInUse = errno == EADDRINUSE
            let failure = Files.Failure("\(wanted)")
            close(descriptor)
            throw CommandFailure(isInUse ? .unavailable : .cannotCreate, failure.message)
        }
        return descriptor
    }

    /// The port that the system assigned.
    private static func port(of descriptor: Int32) -> UInt16? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard unsafe getsockname(descriptor, address, &length) == 0 else { return nil }
                var port = [CChar](repeating: 0, count: 8)
                let status = unsafe getnameinfo(
                    address,
                    length,
                    nil,
                    0,
                    &port,
                    socklen_t(port.count),
                    NI_NUMERICSERV
                )
                return status == 0
                    ? UInt16(String(decoding: port.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
                    : nil
            }
        }
    }
}
