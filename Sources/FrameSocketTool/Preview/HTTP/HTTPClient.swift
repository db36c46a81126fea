internal import CMicroHTTPD

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Whose program is at the other end of a connection on this machine.
enum HTTPClient {
    /// Whether this system tells.
    static var isKnown: Bool {
        #if os(Linux)
            true
        #else
            false
        #endif
    }

    /// The user whose socket is at the other end; nil where the system does not tell, or the client is on another machine.
    ///
    /// The kernel lists all TCP sockets with their owners, as `netstat` shows them; the client's own is the one with the
    /// same two addresses the other way round.
    static func userID(of connection: OpaquePointer) -> UInt32? {
        var room = [CChar](repeating: 0, count: 128)
        var isVersion6 = false
        let count = room.count
        guard unsafe microhttpd_addresses(connection, &room, count, &isVersion6) else { return nil }
        let addresses = String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if isVersion6 { return owner(of: addresses, in: "/proc/net/tcp6") }
        // A socket of IPv6 may be connected to an address of IPv4.
        return owner(of: addresses, in: "/proc/net/tcp") ?? owner(of: mapped(addresses), in: "/proc/net/tcp6")
    }

    /// Two addresses of IPv4 as a socket of IPv6 has them.
    static func mapped(_ addresses: String) -> String {
        addresses.split(separator: " ").map { "0000000000000000FFFF0000\($0)" }.joined(separator: " ")
    }

    private static func owner(of addresses: String, in table: String) -> UInt32? {
        guard let table = try? Files.contents(of: table) else { return nil }
        return userID(ofSocket: addresses, in: String(decoding: table, as: UTF8.self))
    }

    /// ESTABLISHED, FIN_WAIT1 and FIN_WAIT2.
    private static let states: Set<Substring> = ["01", "04", "05"]

    /// The owner of the connected socket with these two addresses, its own first, in the form of the kernel's table.
    static func userID(ofSocket addresses: String, in table: String) -> UInt32? {
        for line in table.split(separator: "\n").dropFirst() {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            // Established, or closed by the client for sending alone. A socket that nobody holds any more would be listed as
            // root's, and has no file.
            guard fields.count > 9, states.contains(fields[3]), fields[9] != "0",
                "\(fields[1]) \(fields[2])" == addresses
            else { continue }
            return UInt32(fields[7])
        }
        return nil
    }
}
