/// Reads a wire log; a truncated one ends with its last complete record.
struct WireLogReader {
    /// The maximum size of a record, which is more than one read of a socket returns.
    static let maximumByteCount = 64 << 20

    private let input: InputFile
    /// Whether the log ends within a record.
    private(set) var isCut = false

    /// Creates a reader that starts after the first bytes.
    init(_ input: InputFile) throws(CommandFailure) {
        self.input = input
        guard let magic = try bytes(WireLog.magic.count), magic == WireLog.magic else {
            throw CommandFailure(.badData, "\(input.name): not a wire log")
        }
    }

    /// The next record; nil at the end.
    mutating func next() throws(CommandFailure) -> WireLog.Record? {
        guard !isCut, let header = try bytes(WireLog.headerCount) else { return nil }
        let count = Int(WireLog.number(header[16..<20]))
        guard let number = UInt32(exactly: WireLog.number(header[12..<16])), let kind = WireLog.Kind(rawValue: number),
            count <= Self.maximumByteCount
        else { throw CommandFailure(.badData, "\(input.name): not a valid record of a wire log") }
        guard let bytes = try bytes(count, isInRecord: true) else { return nil }
        return WireLog.Record(
            time: WireLog.number(header[..<8]),
            connection: UInt32(truncatingIfNeeded: WireLog.number(header[8..<12])),
            kind: kind,
            bytes: bytes
        )
    }

    private mutating func bytes(_ count: Int, isInRecord: Bool = false) throws(CommandFailure) -> [UInt8]? {
        do {
            if let bytes = try input.bytes(count) { return bytes }
            if isInRecord { isCut = true } else { isCut = try !input.peek(1).isEmpty }
            return nil
        } catch {
            throw CommandFailure(.noInput, error.message)
        }
    }
}
