/// Reads the body of a message or of a request with values byte by byte: lines of a key, `=`, a value and a line feed.
///
/// It stores at most what the limits of one key and one value, and their number, allow.
struct SessionInfoBody: Sendable {
    static let separator = UInt8(ascii: "=")

    /// What the header states, and the values that have been read.
    private(set) var info: ControlRequest.SessionInfo
    private let length: Int
    private(set) var remaining: Int
    /// The key of the current line, once complete.
    private var key: String?
    /// The beginning of the current line up to its separator, or from there on.
    private var bytes: [UInt8] = []

    /// Begins a body of `length` bytes, behind a header that states the rest of the info.
    init(_ info: ControlRequest.SessionInfo = .init(), length: Int) {
        (self.info, self.length, remaining) = (info, length, length)
    }

    /// The bytes received and expected, for an error.
    var progress: String { "\(length - remaining) of \(length) bytes" }

    /// Consumes bytes from `index` to the end of the body; on a fault, `index` is the position of the wrong byte.
    mutating func take(_ bytes: Span<UInt8>, from index: inout Int) throws(HeaderFault) {
        while remaining > 0, index < bytes.count {
            let byte = bytes[index]
            if let key { try takeValue(byte, of: key) } else { try takeKey(byte) }
            if remaining == 1, key != nil || !self.bytes.isEmpty { throw fault(endingWith: byte) }
            remaining -= 1
            index += 1
        }
    }

    private mutating func takeKey(_ byte: UInt8) throws(HeaderFault) {
        if byte == Self.separator {
            let text = String(decoding: bytes, as: UTF8.self)
            guard !bytes.isEmpty, info[text] == nil else { throw fault(endingWith: byte) }
            key = text
            return bytes.removeAll(keepingCapacity: true)
        }
        guard ASCII.isToken(byte), hasRoom, info.values.count < ControlRequest.SessionInfo.maximumCount else {
            throw fault(endingWith: byte)
        }
        bytes.append(byte)
    }

    private mutating func takeValue(_ byte: UInt8, of key: String) throws(HeaderFault) {
        guard byte == ASCII.lineFeed else {
            guard ControlRequest.SessionInfo.isAllowed(byte), hasRoom else { throw fault(endingWith: byte) }
            return bytes.append(byte)
        }
        // What is not UTF-8 is replaced, and then differs.
        let value = String(decoding: bytes, as: UTF8.self)
        guard value.utf8.elementsEqual(bytes) else { throw fault(endingWith: byte) }
        info.values[key] = value
        self.key = nil
        bytes.removeAll(keepingCapacity: true)
    }

    private var hasRoom: Bool { bytes.count < ControlRequest.SessionInfo.maximumByteCount }

    private func fault(endingWith byte: UInt8) -> HeaderFault {
        let kept = HeaderScanner<RequestLine>.keptLineBytes
        let detail = Excerpt.text(of: Array(bytes.prefix(kept)), isCut: bytes.count > kept, endingWith: byte)
        return HeaderFault(.infoInvalid, detail: detail)
    }
}
