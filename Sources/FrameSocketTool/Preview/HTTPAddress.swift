/// Where pages are served: an address of this machine and a port, such as `127.0.0.1:8080` or `[::1]:8080`.
struct HTTPAddress: Sendable {
    /// The address, without brackets.
    let host: String
    /// The port; 0 asks for any free one.
    var port: UInt16
    /// The four or sixteen bytes of the address.
    private let bytes: [UInt8]

    /// Parses an address and a port; nil if the text is not of that form.
    ///
    /// Names are not resolved, since they might lead anywhere; `localhost` is 127.0.0.1.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        let name = text[..<colon]
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        host = name == "localhost" ? "127.0.0.1" : String(isBracketed ? name.dropFirst().dropLast() : name)
        self.port = port
        guard let bytes = isBracketed ? Self.bytes(version6: host) : Self.bytes(version4: host) else { return nil }
        self.bytes = bytes
    }

    /// Whether only this machine can reach the address.
    var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1]
    }

    /// The URL for a browser, which cannot connect to an address that stands for all of the machine.
    var url: String {
        let isEverywhere = bytes.allSatisfy { $0 == 0 }
        let name = bytes.count == 4 ? isEverywhere ? "127.0.0.1" : host : isEverywhere ? "[::1]" : "[\(host)]"
        return "http://\(name):\(port)/"
    }

    /// The four bytes of an IPv4 address in dotted decimal; nil for any other text.
    static func bytes(version4 text: String) -> [UInt8]? { bytes(text, AF_INET, count: 4) }

    /// The sixteen bytes of an IPv6 address; nil for any other text, including one with a zone.
    static func bytes(version6 text: String) -> [UInt8]? { bytes(text, AF_INET6, count: 16) }

    private static func bytes(_ text: String, _ family: Int32, count: Int) -> [UInt8]? {
        unsafe withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { room in
            guard unsafe inet_pton(family, text, room.baseAddress) == 1 else { return nil }
            return unsafe Array(room[..<count])
        }
    }
}

extension HTTPAddress: CustomStringConvertible {
    /// The address as it is typed.
    var description: String { bytes.count == 4 ? "\(host):\(port)" : "[\(host)]:\(port)" }
}
