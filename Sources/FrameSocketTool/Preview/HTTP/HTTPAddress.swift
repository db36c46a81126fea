/// Where pages are served: an address of this machine and a port, such as `127.0.0.1:8080` or `[::1]:8080`.
struct HTTPAddress: Sendable, Hashable {
    /// The address, without brackets.
    let host: String
    /// The port; 0 asks for any free one.
    var port: UInt16

    /// Whether `host` is an IPv6 address.
    var isVersion6: Bool { host.contains(":") }

    /// Parses an address and a port; nil if the text is not of that form.
    ///
    /// Names are not resolved, since they might lead anywhere; `localhost` is 127.0.0.1.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        let name = String(text[..<colon])
        self.port = port
        if name == "localhost" {
            host = "127.0.0.1"
        } else if name.hasPrefix("["), name.hasSuffix("]"),
            Self.bytes(version6: String(name.dropFirst().dropLast())) != nil
        {
            host = String(name.dropFirst().dropLast())
        } else if Self.bytes(version4: name) != nil {
            host = name
        } else {
            return nil
        }
    }

    /// Whether only this machine can reach the address.
    var isLoopback: Bool {
        if let bytes = Self.bytes(version4: host) { return bytes.first == 127 }
        return Self.bytes(version6: host) == Array(repeating: 0, count: 15) + [1]
    }

    /// Whether it stands for every address of the machine.
    var isEverywhere: Bool {
        (Self.bytes(version4: host) ?? Self.bytes(version6: host))?.allSatisfy { $0 == 0 } ?? false
    }

    /// The URL for a browser.
    var url: String {
        // A wildcard address cannot be connected to.
        let name = isEverywhere ? (isVersion6 ? "::1" : "127.0.0.1") : host
        return "http://\(name.contains(":") ? "[\(name)]" : name):\(port)/"
    }

    /// The four bytes of an IPv4 address in dotted decimal; nil for any other text.
    static func bytes(version4 text: String) -> [UInt8]? {
        bytes(text, AF_INET, count: 4)
    }

    /// The sixteen bytes of an IPv6 address; nil for any other text, including one with a zone.
    static func bytes(version6 text: String) -> [UInt8]? {
        bytes(text, AF_INET6, count: 16)
    }

    private static func bytes(_ text: String, _ family: Int32, count: Int) -> [UInt8]? {
        unsafe withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { room in
            guard unsafe inet_pton(family, text, room.baseAddress) == 1 else { return nil }
            return unsafe Array(room[..<count])
        }
    }
}

extension HTTPAddress: CustomStringConvertible {
    /// The address as it is typed.
    var description: String { isVersion6 ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
