/// `POST /<name> HTTP/1.1`, the first line of a request.
struct RequestLine: StartLine {
    /// The number of bytes of the name that are stored: more than any known name has.
    static var keptNameBytes: Int { 32 }

    private static let method = Array("POST /".utf8)
    private static let version = Array("HTTP/1.1".utf8)

    /// The beginning of the name.
    private(set) var name: [UInt8] = []

    /// Whether the name is longer than ``name``.
    private(set) var isNameCut = false

    private var methodCount = 0
    private var isInVersion = false
    private var versionCount = 0

    mutating func take(_ byte: UInt8) throws(HeaderFault) -> Bool {
        guard methodCount == Self.method.count else {
            guard byte == Self.method[methodCount] else { throw HeaderFault(.requestLineMethod) }
            methodCount += 1
            return false
        }
        if isInVersion { return try takeVersion(byte) }
        if byte == ASCII.space {
            isInVersion = true
            return false
        }
        guard ASCII.isVisible(byte) else { throw HeaderFault(.requestLineTarget) }
        if name.count < Self.keptNameBytes {
            name.append(byte)
        } else {
            isNameCut = true
        }
        return false
    }

    private mutating func takeVersion(_ byte: UInt8) throws(HeaderFault) -> Bool {
        if versionCount == Self.version.count {
            guard byte != ASCII.lineFeed else { throw HeaderFault(.lineBareLineFeed) }
            guard byte == ASCII.carriageReturn else { throw HeaderFault(.requestLineVersion) }
            return true
        }
        guard byte == Self.version[versionCount] else { throw HeaderFault(.requestLineVersion) }
        versionCount += 1
        return false
    }
}

extension RequestLine {
    /// The known request with this name; nil if there is none, as for every name that was cut.
    var request: ControlName? { ControlName(rawValue: String(decoding: name, as: UTF8.self)) }

    /// The beginning of the name as text: its bytes are printable ASCII.
    var excerpt: String { String(decoding: name, as: UTF8.self) + (isNameCut ? "..." : "") }
}
