/// What a client asks for, as far as this program looks at it.
struct HTTPRequest: Sendable {
    /// The method, such as `GET`.
    var method: String
    /// The path, without what is behind a question mark.
    var path: String
    /// The field `Host`; nil where it is missing.
    var host: String?
    /// The field `Sec-Fetch-Site`, in which a browser says whose page asks; nil for other programs.
    var site: String?
    /// What the query, behind a question mark, gives as `sender`; nil if it does not.
    var sender: String?
    /// Whose program asks; nil where that is not known, or not wanted.
    var userID: UInt32?
}

extension HTTPRequest {
    /// Whether the host that is asked for can only be this one, and not a name that somebody else makes lead here.
    ///
    /// A page of another site may look up its own name anew, be told this machine's address, and then read from here as
    /// if it were itself (DNS rebinding). The field `Host` then has that name, so names other than `localhost` and `names`
    /// are foreign; addresses cannot be had in this way. Any port will do, as a tunnel may have another.
    func isForThisHost(named names: [String] = []) -> Bool {
        guard let host else { return false }
        let name: Substring
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]"), Self.isPort(host[host.index(after: end)...]) else { return false }
            return HTTPAddress.bytes(version6: String(host[host.index(after: host.startIndex)..<end])) != nil
        } else if let colon = host.firstIndex(of: ":") {
            guard Self.isPort(host[colon...]) else { return false }
            name = host[..<colon]
        } else {
            name = host[...]
        }
        let lowered = name.lowercased()
        return lowered == "localhost" || HTTPAddress.bytes(version4: lowered) != nil
            || names.contains { $0.lowercased() == lowered }
    }

    /// Whether a page of another site asks.
    var isFromElsewhere: Bool { site == "cross-site" || site == "same-site" }

    /// Whether `text` is empty, or a colon and a number.
    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || (text.first == ":" && UInt16(text.dropFirst()) != nil)
    }
}
