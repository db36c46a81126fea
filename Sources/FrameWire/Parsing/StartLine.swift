/// The first line of a header, validated byte by byte.
///
/// Headers of different kinds, such as a request's and a frame's, differ in this line and in what their fields mean.
protocol StartLine: Sendable {
    init()

    /// Validates the next byte of the line; returns true if it is the carriage return that ends the line.
    mutating func take(_ byte: UInt8) throws(HeaderFault) -> Bool
}

/// `HTTP/1.1 200`, or version 1.0, with any reason phrase or none.
struct StatusLine: StartLine {
    private var index = 0

    mutating func take(_ byte: UInt8) throws(HeaderFault) -> Bool {
        defer { index += 1 }
        switch index {
        case 0: try expect(byte == UInt8(ascii: "H"), else: .startLineMalformed)
        case 1, 2: try expect(byte == UInt8(ascii: "T"), else: .startLineMalformed)
        case 3: try expect(byte == UInt8(ascii: "P"), else: .startLineMalformed)
        case 4: try expect(byte == UInt8(ascii: "/"), else: .startLineMalformed)
        case 5: try expect(byte == UInt8(ascii: "1"), else: .startLineVersion)
        case 6: try expect(byte == UInt8(ascii: "."), else: .startLineVersion)
        case 7: try expect(byte == UInt8(ascii: "1") || byte == UInt8(ascii: "0"), else: .startLineVersion)
        case 8: try expect(byte == ASCII.space, else: .startLineVersion)
        case 9: try expect(byte == UInt8(ascii: "2"), else: .startLineStatus)
        case 10, 11: try expect(byte == UInt8(ascii: "0"), else: .startLineStatus)
        default: return try takeReason(byte)
        }
        return false
    }

    private func takeReason(_ byte: UInt8) throws(HeaderFault) -> Bool {
        if byte == ASCII.carriageReturn { return true }
        try expect(byte != ASCII.lineFeed, else: .lineBareLineFeed)
        switch index {
        case 12: try expect(byte == ASCII.space, else: .startLineStatus)
        case 13: try expect(ASCII.isVisible(byte), else: .startLineReason)
        default: try expect(ASCII.isVisible(byte) || byte == ASCII.space, else: .startLineReason)
        }
        return false
    }

    private func expect(_ condition: Bool, else code: WireError.Code) throws(HeaderFault) {
        if !condition { throw HeaderFault(code) }
    }
}
