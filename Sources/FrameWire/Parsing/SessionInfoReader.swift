/// Reads the values of a ``ControlRequest/SessionInfo`` byte by byte: lines of a key, `=`, a value and a line feed.
///
/// It stores at most what the limits allow.
struct SessionInfoReader: Sendable {
    static let separator = UInt8(ascii: "=")

    private var info = ControlRequest.SessionInfo()
    /// The key of the current line, once complete.
    private var key: String?
    /// The beginning of the current line up to its separator, or from there on.
    private var bytes: [UInt8] = []

    /// Creates a reader of values that come with what a header states.
    init(_ info: ControlRequest.SessionInfo = .init()) {
        self.info = info
    }

    /// Consumes a byte; `isLast` tells whether the values must end with it.
    mutating func take(_ byte: UInt8, isLast: Bool) throws(HeaderFault) {
        if let key { try takeValue(byte, of: key) } else { try takeKey(byte) }
        if isLast, !isBetweenLines { throw fault(endingWith: byte) }
    }

    /// Returns the values; meaningful only between lines.
    func end() -> ControlRequest.SessionInfo { info }

    /// Whether every line has ended.
    var isBetweenLines: Bool { key == nil && bytes.isEmpty }

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
        do {
            try info.set(value, for: key)
        } catch {
            throw fault(endingWith: byte)
        }
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

/// The body of a message or of a request with values, while it is being read.
struct SessionInfoBody: Sendable {
    private var reader: SessionInfoReader
    private let length: Int
    private(set) var remaining: Int
    /// Whether the values end with this body.
    private let isLast: Bool

    /// Begins a body.
    init(_ reader: SessionInfoReader, length: Int, isLast: Bool = true) {
        (self.reader, self.length, remaining, self.isLast) = (reader, length, length, isLast)
    }

    /// The bytes received and expected, for an error.
    var progress: String { "\(length - remaining) of \(length) bytes" }

    /// Consumes bytes from `index` to the end of the body; on a fault, `index` is the position of the wrong byte.
    mutating func take(_ bytes: Span<UInt8>, from index: inout Int) throws(HeaderFault) {
        while remaining > 0, index < bytes.count {
            try reader.take(bytes[index], isLast: isLast && remaining == 1)
            remaining -= 1
            index += 1
        }
    }

    /// The reader, for the next part, or for the values.
    func end() -> SessionInfoReader { reader }
}
