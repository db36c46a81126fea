/// The parts of a request that this program uses.
struct HTTPRequest: Sendable {
    /// The method, such as `GET`.
    var method: String
    /// The path, without the query.
    var path: String
    /// The field `Host`; nil if absent.
    var host: String?
    /// How many fields `Host` there are; RFC 9112 forbids several, which programs on the way could read differently.
    var hostCount = 1
    /// The field `Sec-Fetch-Site`, in which a browser says which site's page asks; nil for other programs.
    var site: String?
    /// The value of `sender` in the query; nil if there is none.
    var sender: String?
    /// The value of `viewer` in the query, by which a page that asks for one image after another is known; nil if there
    /// is none.
    var viewer: String?
    /// The field `If-None-Match`: the tag of what the client has; nil if absent.
    var knownTags: String?
    /// The field `Prefer`; nil if absent.
    var preference: String?
    /// The user whose program asks; nil if unknown or not requested.
    var userID: UInt32?
}

extension HTTPRequest {
    /// Whether the requested host can only be this one, and not a name that somebody else points here.
    ///
    /// A page of another site may look up its own name again, be told this machine's address, and then read from here
    /// as if from its own site (DNS rebinding). The field `Host` then has that name, so names other than `localhost`
    /// and `names` are rejected; addresses cannot be obtained in this way. Any port is accepted, since a tunnel may
    /// have another.
    func isForThisHost(named names: [String]) -> Bool {
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

    /// Whether a text can be a host's name in a request, without a port: letters of ASCII, digits, hyphens, underscores and,
    /// not at either end, dots.
    static func isHostName(_ text: String) -> Bool {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_.".utf8.contains(byte)
            }
        }
        return isPlain && (1...253).contains(text.utf8.count) && !text.hasPrefix(".") && !text.hasSuffix(".")
    }

    /// Whether a page of another site asks.
    var isFromElsewhere: Bool { site == "cross-site" || site == "same-site" }

    /// Whether `text` is empty, or a colon and a number.
    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || (text.first == ":" && UInt16(text.dropFirst()) != nil)
    }
}

extension HTTPRequest {
    /// Whether the client has what is tagged so, without quotes.
    func knows(_ tag: String) -> Bool {
        guard let knownTags else { return false }
        return knownTags.split(separator: ",").contains { known in
            let known = known.drop { $0 == " " || $0 == "\t" }
            return known.hasPrefix("\"\(tag)\"") || known.hasPrefix("W/\"\(tag)\"")
        }
    }

    /// The number of seconds that the client would wait for something new (`Prefer: wait=N`, RFC 7240); nil if it would
    /// not.
    var patience: Int? {
        for preference in (preference ?? "").split(separator: ",") {
            let parts = preference.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            let words = parts.map { $0.filter { !" \t\"".contains($0) } }
            if words.count == 2, words[0].lowercased() == "wait", let seconds = Int(words[1]), seconds > 0 {
                return seconds
            }
        }
        return nil
    }
}
