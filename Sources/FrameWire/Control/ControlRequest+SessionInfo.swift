extension ControlRequest {
    /// What one side of a session states about itself to the other: values by their keys, and what a sender will send.
    ///
    /// ```swift
    /// let info = try ControlRequest.SessionInfo(["channelName": "lobby", "user": "Ana"])
    /// ```
    ///
    /// Each side states it once on a connection. At most 16 values are allowed, of at most 4,096 bytes together: each
    /// counts as the bytes of its key and of its text, and two more. A key is a token of RFC 9110, which consists of ASCII
    /// letters, digits, `!#$%&'*+-.^_|~` and the grave accent, of 1 to 256 bytes; upper and lower case differ. A value is
    /// any text of at most 256 bytes of UTF-8 without NUL, carriage return and line feed; it may be empty.
    public struct SessionInfo: Sendable, Hashable {
        /// The maximum number of values: 16.
        public static let maximumCount = 16

        /// The maximum number of bytes of a key, and of a value in UTF-8: 256.
        public static let maximumByteCount = 256

        /// The values by their keys.
        public internal(set) var values: [String: String] = [:]

        /// The size of the sender's frames, as sent; nil if it is not known, and from a receiver.
        ///
        /// A connection states the size of its first frame, whatever is set here.
        public var size: BufferSize?

        /// The frame rate of the sender in millihertz, 1 to 1,000,000, as for ``ControlRequest/Preferences``; nil if it is
        /// not known, and from a receiver.
        public var frameRateInMillihertz: Int?

        /// Whether the sender has audio for a receiver that wants it; nil if it is not known, and from a receiver.
        ///
        /// While `SocketConnection.offersAudio` is false, a connection states false, whatever is set here.
        public var offersAudio: Bool?

        /// Creates an info that states nothing.
        public init() {}

        /// Creates an info with the given values.
        ///
        /// - Throws: `info.invalid`, with the first fault of the values in the order of their keys.
        public init(_ values: [String: String]) throws(WireError) {
            for (key, value) in values.sorted(by: { $0.key < $1.key }) { try set(value, for: key) }
        }

        /// The value for a key; nil if there is none.
        public subscript(key: String) -> String? { values[key] }

        /// The value for a key, or a default if there is none or it is empty, as that of a field that was left empty.
        public subscript(key: String, default text: @autoclosure () -> String) -> String {
            values[key].flatMap { $0.isEmpty ? nil : $0 } ?? text()
        }

        /// Sets or, with nil, removes the value for a key.
        ///
        /// - Throws: `info.invalid`, with what is wrong with the key or the value, or how many there are; nothing changes.
        public mutating func set(_ value: String?, for key: String) throws(WireError) {
            guard let value else {
                values[key] = nil
                return
            }
            if let fault = Self.fault(of: value, for: key) { throw WireError(.infoInvalid, fault) }
            var changed = values
            changed[key] = value
            guard changed.count <= Self.maximumCount else {
                throw WireError(.infoInvalid, "more than \(Self.maximumCount) values cannot be stated")
            }
            let count = changed.reduce(0) { $0 + Self.lineByteCount($1.key, $1.value) }
            guard count <= Self.maximumBodyByteCount else {
                throw WireError(
                    .infoInvalid,
                    "the values take \(count) bytes together; use at most \(Self.maximumBodyByteCount)"
                )
            }
            values = changed
        }

        /// What is wrong with a value, and how to fix it; nil if it is allowed.
        private static func fault(of value: String, for key: String) -> String? {
            let beginning = Array(key.utf8.prefix(40))[...]
            let quoted = Excerpt.text(of: beginning.span, isCut: key.utf8.count > 40)
            let limit = maximumByteCount
            if key.isEmpty || !key.utf8.allSatisfy(ASCII.isToken) {
                return "invalid key \(quoted): use 1 to \(limit) ASCII letters, digits and !#$%&'*+-.^_`|~"
            }
            if key.utf8.count > limit {
                return "the key \(quoted) has \(key.utf8.count) bytes; use at most \(limit)"
            }
            if !value.utf8.allSatisfy(isAllowed) {
                return "the value for \(quoted) contains NUL, a carriage return or a line feed; remove it"
            }
            if value.utf8.count > limit {
                return "the value for \(quoted) has \(value.utf8.count) bytes of UTF-8; use at most \(limit)"
            }
            return nil
        }

        /// Whether a byte is allowed in a value.
        static func isAllowed(_ byte: UInt8) -> Bool {
            byte != 0 && byte != ASCII.lineFeed && byte != ASCII.carriageReturn
        }
    }
}

extension ControlRequest.SessionInfo {
    /// The frame rate in frames per second.
    ///
    /// A new value is rounded to the nearest one that the wire can express, from 0.001 to 1,000. NaN is treated as nil.
    public var frameRate: Double? {
        get { frameRateInMillihertz.map { Double($0) / 1_000 } }
        set { frameRateInMillihertz = newValue.flatMap(ControlRequest.millihertz) }
    }
}

// The wire format.
extension ControlRequest.SessionInfo {
    private static let separator = UInt8(ascii: "=")

    /// The most bytes of values that are written.
    static let maximumBodyByteCount = 4_096

    /// The most bytes of values that are read of a sender: earlier versions had no limit for all of them together.
    static let maximumReadByteCount = maximumCount * (2 * maximumByteCount + 2)

    /// The bytes of a line: a key, `=`, a value and a line feed.
    private static func lineByteCount(_ key: String, _ value: String) -> Int { key.utf8.count + value.utf8.count + 2 }

    /// Returns the message in its wire format, as a sender writes it.
    ///
    /// A size or a rate that is not allowed is omitted.
    public func encoded() -> [UInt8] {
        let body = body
        return HeaderWriter.bytes(bodyByteCount: body.count) { writer in
            Header(self, bodyByteCount: body.count).write(to: &writer)
            writer.append(body)
        }
    }

    /// The body of the message: a line for each value, in the order of the keys.
    ///
    /// Values that were read of an earlier version may be more than are written: the last ones are left out.
    package var body: [UInt8] {
        var bytes: [UInt8] = []
        for (key, value) in values.sorted(by: { $0.key < $1.key })
        where bytes.count + Self.lineByteCount(key, value) <= Self.maximumBodyByteCount {
            bytes += key.utf8
            bytes.append(Self.separator)
            bytes += value.utf8
            bytes.append(ASCII.lineFeed)
        }
        return bytes
    }

    /// Appends the header of the message; false, with nothing appended, if `output` has no room for it.
    package func encodeHeader(bodyByteCount: Int, into output: inout OutputSpan<UInt8>) -> Bool {
        Header(self, bodyByteCount: bodyByteCount).encode(into: &output)
    }

    /// The header of the message, which lacks the values.
    struct Header: WireMessage {
        private(set) var info: ControlRequest.SessionInfo
        private var bodyByteCount: Int

        /// Creates the header of an info, without a size or a rate that is not allowed.
        init(_ info: ControlRequest.SessionInfo = .init(), bodyByteCount: Int = 0) {
            (self.info, self.bodyByteCount) = (info, bodyByteCount)
            if let size = info.size, !sides.contains(size.width) || !sides.contains(size.height) {
                self.info.size = nil
            }
            if let rate = info.frameRateInMillihertz, !frameRates.contains(rate) {
                self.info.frameRateInMillihertz = nil
            }
        }

        package mutating func code(with coder: inout some FieldCoder) {
            coder.begin(.info, bodyByteCount: &bodyByteCount)
            coder.code(.width, .height, &info.size)
            coder.code(.frameRate, &info.frameRateInMillihertz)
            coder.code(.offersAudio, &info.offersAudio)
        }
    }

    /// The sides that a header may state, in pixels: those of a JPEG.
    private static let sides = 1...65_535
    static let frameRates = 1...1_000_000

    /// Reads the values in a body: lines of a key, `=`, a value and a line feed.
    ///
    /// Returns the first fault, whose index counts from the beginning of the header; nil if there is none, as in the
    /// beginning of a body up to which everything is right.
    mutating func read(_ body: [UInt8], behind header: HeaderParser, isWhole: Bool = true) -> HeaderFault? {
        var start = 0
        while start < body.count {
            let keyEnd = Self.end(of: body, from: start) { ASCII.isToken($0) && values.count < Self.maximumCount }
            let key = String(decoding: body[start..<keyEnd], as: UTF8.self)
            var index = keyEnd
            if keyEnd < body.count, body[keyEnd] == Self.separator, keyEnd > start, values[key] == nil {
                index = Self.end(of: body, from: keyEnd + 1, while: Self.isAllowed)
                if index < body.count, body[index] == ASCII.lineFeed {
                    let bytes = body[(keyEnd + 1)..<index]
                    // What is not UTF-8 is replaced, and then differs.
                    let value = String(decoding: bytes, as: UTF8.self)
                    if value.utf8.elementsEqual(bytes) {
                        values[key] = value
                        start = index + 1
                        continue
                    }
                }
            }
            guard isWhole || index < body.count else { return nil }
            index = min(index, body.count - 1)
            let rest = body[start...]
            let line = rest.span
            let detail = Excerpt.text(of: line, endingAt: index - start, with: body[index])
            return HeaderFault(.infoInvalid, at: header.byteCount + index, detail: detail)
        }
        return nil
    }

    /// Returns the index of the first byte from `start` on that does not belong to a key or value.
    private static func end(of body: [UInt8], from start: Int, while isPart: (UInt8) -> Bool) -> Int {
        var index = start
        while index < body.count, index - start < maximumByteCount, isPart(body[index]) { index += 1 }
        return index
    }
}
