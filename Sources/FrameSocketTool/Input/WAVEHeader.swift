/// Where the samples of a WAVE file begin, and how many bytes of them its header promises.
///
/// libsndfile reads the header; this finds only the one number that it cannot know to be a placeholder. A program that writes to a pipe
/// has to state a size before it knows it, and programs differ: 0x7FFFF000 (sox), 0x80000000 (arecord), 0xFFFFFFFF (ffmpeg) or 0.
struct WAVEHeader {
    /// The offset of the first sample.
    let offset: Int
    /// The bytes of all samples; nil if they go on until the end of the input.
    let byteCount: Int?

    /// The maximum number of chunks before the samples.
    static let maximumChunkCount = 256

    /// Sizes that programs state for as long as they do not know the real one, within ``placeholderTolerance``: some subtract the header.
    private static let placeholders = [0x7F00_0000, 0x8000_0000, 0xFFFF_FFFF]
    private static let placeholderTolerance = 0x1_0000

    /// Whether a size is one that programs state for want of the real one, other than 0.
    static func isPlaceholder(_ size: Int) -> Bool {
        placeholders.contains { abs($0 - size) <= placeholderTolerance }
    }

    /// Reads up to the samples; nil if the input is no WAVE file (RIFF, RIFX, RF64 or BW64).
    ///
    /// The kept bytes are changed so that libsndfile reads to the end of the input: it recognizes a file that was not closed by a RIFF
    /// chunk of 8 bytes and a data chunk of none.
    init?(of input: AudioInput) throws(CommandFailure) {
        let start = try input.prefix(12)
        let kinds = ["RIFF", "RIFX", "RF64", "BW64"]
        guard start.count == 12, let kind = kinds.first(where: { start.starts(with: $0.utf8) }),
            start[8...].elementsEqual("WAVE".utf8)
        else { return nil }
        let isBigEndian = kind == "RIFX"
        func number(at offset: Int) throws(CommandFailure) -> Int {
            let bytes = try input.prefix(offset + 4)[offset...]
            return (isBigEndian ? Array(bytes) : bytes.reversed()).reduce(0) { $0 << 8 | Int($1) }
        }
        let riffSize = try number(at: 4)
        // The sizes that RF64 states in place of those of 32 bits.
        var longSizes: (riff: Int, data: Int)?
        var offset = 12
        for _ in 0..<Self.maximumChunkCount {
            let head = try input.prefix(offset + 8).dropFirst(offset)
            guard head.count == 8 else { throw input.failure("it ends before its samples") }
            let name = String(decoding: head.prefix(4), as: UTF8.self)
            let size = try number(at: offset + 4)
            if name == "data" {
                self.offset = offset + 8
                let stated = size == 0xFFFF_FFFF ? longSizes.map { ($0.riff, $0.data) } : nil
                byteCount = try Self.byteCount(stated ?? (riffSize, size), from: offset + 8, of: input)
                // RIFX keeps its byte order.
                if !isBigEndian { input.replace(0, with: Array("RIFF".utf8)) }
                input.replace(4, with: isBigEndian ? [0, 0, 0, 8] : [8, 0, 0, 0])
                input.replace(offset + 4, with: [0, 0, 0, 0])
                return
            }
            let next = offset + 8 + size + size % 2
            guard next <= AudioInput.maximumHeadLength else {
                throw input.failure("a \(name) chunk of \(size) bytes precedes its samples")
            }
            guard try input.prefix(next).count == next else { throw input.failure("it ends within a \(name) chunk") }
            if name == "ds64", size >= 16 {
                longSizes = (try Self.long(at: offset + 8, of: input), try Self.long(at: offset + 16, of: input))
            }
            offset = next
        }
        throw input.failure("there are no samples in its first \(Self.maximumChunkCount) chunks")
    }

    private static func long(at offset: Int, of input: AudioInput) throws(CommandFailure) -> Int {
        let number = try input.prefix(offset + 8)[offset...].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return Int(clamping: number)
    }

    /// The bytes of samples; nil if the size is a placeholder.
    ///
    /// 0 is the size of a whole file without samples only if another chunk follows, within the RIFF chunk.
    private static func byteCount(
        _ sizes: (riff: Int, data: Int),
        from offset: Int,
        of input: AudioInput
    ) throws(CommandFailure) -> Int? {
        guard sizes.data == 0 else {
            return isPlaceholder(sizes.data) || sizes.data >= AudioInput.unknownLength ? nil : sizes.data
        }
        guard !isPlaceholder(sizes.riff), sizes.riff > offset else { return nil }
        let next = try input.prefix(offset + 8).dropFirst(offset)
        guard next.count == 8, next.prefix(4).allSatisfy({ 0x20...0x7E ~= $0 }) else { return nil }
        let size = next.dropFirst(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        return offset + 8 + size <= sizes.riff + 8 ? 0 : nil
    }
}
