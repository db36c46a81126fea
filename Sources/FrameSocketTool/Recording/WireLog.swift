/// A wire log: what a server read from its sockets, with the times, as docs/wire-log.md defines it.
enum WireLog {
    /// The first bytes of a log, including its version.
    static let magic = Array("framesocket-wire-log 1\n".utf8)

    /// The size of a record's header in bytes.
    static let headerCount = 20

    /// What a record reports.
    enum Kind: UInt32 {
        case opened
        case bytes
        case closed
    }

    /// Something that happened on one connection.
    struct Record {
        /// Nanoseconds since the log began.
        let time: UInt64
        let connection: UInt32
        let kind: Kind
        /// The bytes that were read, if that is what happened.
        var bytes: [UInt8] = []
    }

    /// Whether bytes begin as a log does.
    static func begins(_ bytes: some Sequence<UInt8>) -> Bool { bytes.starts(with: magic) }

    /// The bytes of a number, the least significant first.
    static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// The number that these bytes encode, the least significant first.
    static func number(_ bytes: some BidirectionalCollection<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
