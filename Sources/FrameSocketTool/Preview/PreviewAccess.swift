import FrameSocket

/// Who may watch a preview: whoever knows its token, unless it is open to everybody.
///
/// The token is part of the address that is printed. The page's own requests have it in a cookie, so that it is in no
/// address that a browser keeps or shows.
struct PreviewAccess: Sendable {
    /// The token; nil if the preview is open.
    let token: String?
    /// Names by which this machine may be addressed, besides `localhost` and addresses.
    let names: [String]

    /// Returns 128 bits from the system, as text.
    static func makeToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<32).compactMap { _ in "0123456789abcdef".randomElement(using: &generator) })
    }

    /// Whether a text can be a token: 8 to 128 letters, digits, hyphens, dots and underscores, as in an address and a cookie.
    static func isToken(_ text: String) -> Bool {
        (8...128).contains(text.utf8.count) && text.utf8.allSatisfy(isNameByte)
    }

    /// Whether a text can be a host's name in a request, without a port: letters of ASCII, digits, hyphens, underscores and,
    /// not at either end, dots.
    static func isHostName(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count) && !text.hasPrefix(".") && !text.hasSuffix(".")
            && text.utf8.allSatisfy(isNameByte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Checks a request, and returns its path and the cookie that its answer is to set, if any.
    ///
    /// - Throws: The answer to a request that is refused.
    func check(_ request: HTTPRequest) throws(HTTPResponse) -> (path: Substring, cookie: String?) {
        // The absolute form has the authority, which replaces the field, before the path (RFC 9112).
        let isAbsolute = request.target.lowercased().hasPrefix("http://")
        let rest = isAbsolute ? request.target.dropFirst("http://".count) : request.target[...]
        let authority = isAbsolute ? rest.prefix { $0 != "/" } : ""
        let path = rest.count > authority.count ? rest.dropFirst(authority.count) : "/"
        guard let field = request.fields["Host"] else {
            throw HTTPResponse(400, "The request does not have one field Host.")
        }
        guard let port = port(ofHost: isAbsolute ? authority : field[...]) else {
            throw HTTPResponse(421, "This server does not answer to that name; use its address, or --http-name.")
        }
        guard let token else { return (path, nil) }
        // Cookies are shared by all ports of a host. Without a path, the cookie belongs to the directory of the page.
        let name = "framesocket-\(port)="
        if let known = request.arguments["token"], Self.isSame(known, token) {
            return (path, "\(name)\(token); HttpOnly; SameSite=Strict")
        }
        let cookies = (request.fields["Cookie"] ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
        guard cookies.contains(where: { Self.isSame(String($0), name + token) }) else {
            throw HTTPResponse(
                403,
                "Open the address that `framesocket preview` prints when it starts: it ends with ?token= and the token."
                    + " --http-token sets the token, and with --http-open none is needed."
            )
        }
        return (path, nil)
    }

    /// Compares in a time that tells nothing of the token but its length.
    static func isSame(_ text: String, _ token: String) -> Bool {
        let (text, token) = (Array(text.utf8), Array(token.utf8))
        guard text.count == token.count else { return false }
        return zip(text, token).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The port in a requested host that can only be this one, and is not a name that somebody else points here; nil for any
    /// other host.
    ///
    /// A page of another site may look up its own name again, be told this machine's address, and then read from here as if
    /// from its own site (DNS rebinding). The host then has that name, so names other than `localhost` and `names` are
    /// rejected; addresses cannot be obtained in this way. Any port is accepted, since a tunnel may have another.
    func port(ofHost host: Substring) -> UInt16? {
        let isBracketed = host.first == "["
        let end = isBracketed ? host.firstIndex(of: "]").map(host.index(after:)) : host.firstIndex { $0 == ":" }
        let name = host[..<(end ?? host.endIndex)].lowercased()
        let isOurs =
            isBracketed
            ? end != nil && HTTPAddress.bytes(version6: String(name.dropFirst().dropLast())) != nil
            : name == "localhost" || HTTPAddress.bytes(version4: name) != nil
                || names.contains { $0.lowercased() == name }
        let rest = end.map { host[$0...] } ?? ""
        guard isOurs, rest.isEmpty || rest.first == ":" else { return nil }
        return rest.isEmpty ? 80 : UInt16(rest.dropFirst())
    }
}
