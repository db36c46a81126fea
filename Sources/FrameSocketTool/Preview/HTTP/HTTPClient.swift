internal import CMicroHTTPD

/// The owner of the program at the other end of a connection on this machine.
enum HTTPClient {
    /// Whether this system reports owners.
    static var isKnown: Bool {
        #if os(Linux)
            true
        #else
            false
        #endif
    }

    /// Returns the user who owns the socket at the other end; nil if the system does not report it, or if the client is
    /// on another machine.
    ///
    /// The kernel lists all TCP sockets with their owners, as `netstat` shows them; the client's own has the same two
    /// addresses in reverse order.
    static func userID(of connection: OpaquePointer) -> UInt32? {
        var room = [CChar](repeating: 0, count: 128)
        var isVersion6 = false
        let count = room.count
        guard unsafe microhttpd_addresses(connection, &room, count, &isVersion6) else { return nil }
        let addresses = String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if isVersion6 { return owner(of: addresses, in: "/proc/net/tcp6") }
        // An IPv6 socket may be connected to an IPv4 address.
        return owner(of: addresses, in: "/proc/net/tcp") ?? owner(of: mapped(addresses), in: "/proc/net/tcp6")
    }

    /// Two IPv4 addresses as an IPv6 socket has them.
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
            // Established, or half-closed by the client. A socket that no process holds any more would be listed as
            // root's, and has no inode.
            guard fields.count > 9, states.contains(fields[3]), fields[9] != "0",
                "\(fields[1]) \(fields[2])" == addresses
            else { continue }
            return UInt32(fields[7])
        }
        return nil
    }
}
