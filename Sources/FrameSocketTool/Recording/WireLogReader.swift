import FrameSocket

/// Reads a wire log; one that was cut off ends with its last whole record.
struct WireLogReader {
    /// The most bytes that a record may have, which is more than one read of a socket brings.
    static let maximumByteCount = 64 << 20

    private let input: InputFile
    /// Whether the log ends within a record.
    private(set) var isCut = false

    /// Begins to read, behind the first bytes.
    init(_ input: InputFile) throws(CommandFailure) {
        self.input = input
        guard let magic = try bytes(WireLog.magic.count), magic == WireLog.magic else {
            throw CommandFailure(.badData, "\(input.name): this is no wire log")
        }
    }

    /// The next record; nil at the end.
    mutating func next() throws(CommandFailure) -> WireLog.Record? {
        guard !isCut, let head = try bytes(WireLog.headCount) else { return nil }
        let count = Int(WireLog.number(head[16..<20]))
        guard let number = UInt32(exactly: WireLog.number(head[12..<16])), let kind = WireLog.Kind(rawValue: number),
            count <= Self.maximumByteCount
        else { throw CommandFailure(.badData, "\(input.name): this is no record of a wire log") }
        guard let bytes = try bytes(count) else { return nil }
        return WireLog.Record(
            time: WireLog.number(head[..<8]),
            connection: UInt32(truncatingIfNeeded: WireLog.number(head[8..<12])),
            kind: kind,
            bytes: bytes
        )
    }

    private mutating func bytes(_ count: Int) throws(CommandFailure) -> [UInt8]? {
        do {
            if let bytes = try input.bytes(count) { return bytes }
            isCut = try !input.peek(1).isEmpty || count < WireLog.headCount
            return nil
        } catch {
            throw CommandFailure(.noInput, error.message)
        }
    }
}
