import JPEGStreams

/// Reads the JPEGs and their times from a Matroska file of any program.
///
/// A flat walk over the elements: those that contain others are entered, those of interest are read, all others are
/// skipped. So it makes no difference whether a length is known, and a truncated file ends with its last complete
/// frame.
struct MatroskaReader {
    /// A frame as it was recorded.
    struct Entry {
        /// Nanoseconds since the beginning of the recording.
        let time: UInt64
        let jpeg: [UInt8]
    }

    /// The maximum number of bytes of a block: a JPEG, the block's own header, and a segment with the orientation.
    static let maximumFrameLength = JPEGStreamReader.maximumImageByteCount + 64

    private let input: InputFile
    private var scale: UInt64 = 1_000_000
    private var clusterTime: UInt64 = 0
    /// The tracks of the segment, the last of which may still be described.
    private var tracks: [MatroskaTrack] = []
    /// The track that is read; nil until the first frames.
    private var track: MatroskaTrack?
    /// Whether frames came before any track.
    private var hasUnknownFrames = false
    /// Further frames of the block that was read last, in reverse order.
    private var laced: [Entry] = []
    /// Whether the file ends within an element.
    private(set) var isCut = false

    /// Creates a reader.
    init(_ input: InputFile) {
        self.input = input
    }

    /// Whether bytes begin as a Matroska file does.
    static func begins(_ bytes: some Sequence<UInt8>) -> Bool { bytes.starts(with: EBML.header.id) }

    /// The next frame; nil at the end.
    ///
    /// A frame that is damaged, so that it cannot be decompressed, has no bytes.
    mutating func next() throws(CommandFailure) -> Entry? {
        if let entry = laced.popLast() { return entry }
        do {
            while let (id, size) = try element() {
                if let entry = try take(EBML(rawValue: id), size) { return entry }
            }
            try chooseTrack()
        } catch let failure as Files.Failure {
            throw CommandFailure(.noInput, failure.message)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(.badData, "\(input.name): \(error)")
        }
        if track == nil { throw wrong("no Motion JPEG track") }
        if hasUnknownFrames { throw wrong("its tracks follow its frames; rewrite it: ffmpeg -i FILE -c copy OUT.mkv") }
        return nil
    }

    /// Handles an element; returns the first frame if it holds any.
    private mutating func take(_ element: EBML?, _ size: UInt64?) throws -> Entry? {
        switch element {
        case .segment:
            // Another one may follow, with tracks and times of its own.
            (tracks, track, scale, clusterTime) = ([], nil, 1_000_000, 0)
        case .info, .tracks, .blockGroup, .contentEncodings:
            break
        case .cluster:
            try chooseTrack()
        case .trackEntry:
            tracks.append(MatroskaTrack())
        case .timestampScale:
            scale = max(1, try number(size))
        case .timestamp:
            clusterTime = try number(size)
        case .simpleBlock, .block:
            return try firstFrame(ofBlock: size)
        case .trackNumber, .codecID, .codecPrivate, .frameDuration, .contentEncoding, .encodingOrder, .encodingScope,
            .encodingType, .contentCompression, .compressionAlgorithm, .compressionSettings:
            try describe(element, size)
        default:
            guard let size else { throw wrong("an element without an end") }
            try skip(size)
        }
        return nil
    }

    private mutating func skip(_ size: UInt64) throws(Files.Failure) {
        if try !input.skip(size) { isCut = true }
    }

    // MARK: Tracks

    /// Takes a part of the last track's description, or of its last encoding.
    private mutating func describe(_ element: EBML?, _ size: UInt64?) throws {
        guard var last = tracks.popLast() else { return try skip(size ?? 0) }
        defer { tracks.append(last) }
        switch element {
        case .trackNumber: last.number = try number(size)
        case .codecID: last.codec = String(decoding: try content(size, atMost: 256).prefix { $0 != 0 }, as: UTF8.self)
        // Longer ones belong to codecs that are not read.
        case .codecPrivate where (size ?? .max) > 65_536: try skip(size ?? 0)
        case .codecPrivate: last.codecPrivate = try content(size, atMost: 65_536)
        case .frameDuration: last.frameDuration = try number(size)
        case .contentEncoding: last.encodings.append(MatroskaEncoding())
        default:
            guard var encoding = last.encodings.popLast() else { return try skip(size ?? 0) }
            switch element {
            case .encodingOrder: encoding.order = try number(size)
            case .encodingScope: encoding.scope = try number(size)
            case .encodingType: encoding.type = try number(size)
            // zlib, unless an algorithm follows.
            case .contentCompression: encoding.algorithm = encoding.algorithm ?? 0
            case .compressionAlgorithm: encoding.algorithm = try number(size)
            default: encoding.settings = try content(size, atMost: 65_536)
            }
            last.encodings.append(encoding)
        }
    }

    /// Chooses the first track of Motion JPEG, once all are described; throws what the tracks are if none can be read.
    private mutating func chooseTrack() throws(CommandFailure) {
        guard track == nil, !tracks.isEmpty, !isCut else { return }
        let candidates = tracks.filter(\.isMotionJPEG)
        track = candidates.first { $0.obstacle == nil }
        guard track == nil else { return }
        guard let candidate = candidates.first, let obstacle = candidate.obstacle else {
            let list = tracks.map { "track \($0.number) is \($0.description)" }.joined(separator: ", ")
            throw wrong("no Motion JPEG track: \(list); convert it: ffmpeg -i FILE -c:v mjpeg -q:v 2 OUT.mkv")
        }
        guard obstacle != "encrypted" else {
            throw wrong(
                "its Motion JPEG track \(candidate.number) is encrypted; decrypt it with the program that wrote it"
            )
        }
        throw wrong(
            "its Motion JPEG track \(candidate.number) is \(obstacle); rewrite it: ffmpeg -i FILE -c copy OUT.mkv"
        )
    }

    // MARK: Blocks

    /// The first frame in a block: the track's number, a time relative to the cluster's, flags, and one or more frames.
    private mutating func firstFrame(ofBlock size: UInt64?) throws -> Entry? {
        try chooseTrack()
        guard let size else { throw wrong("an element without an end") }
        let start = try input.peek(Int(min(size, 8)))
        if let number = MatroskaBlock.number(in: start)?.value, number != track?.number {
            hasUnknownFrames = hasUnknownFrames || track == nil
            try skip(size)
            return nil
        }
        let bytes = try content(size, atMost: Self.maximumFrameLength)
        guard let track, let block = MatroskaBlock(bytes) else { return nil }
        let distance = UInt64(block.time.magnitude)
        let (time, isOutside) =
            block.time < 0
            ? clusterTime.subtractingReportingOverflow(distance) : clusterTime.addingReportingOverflow(distance)
        let (nanoseconds, overflows) = time.multipliedReportingOverflow(by: scale)
        guard !isOutside, !overflows else { throw wrong("a time beyond all bounds") }
        laced = block.frames.enumerated().reversed().map { index, frame in
            let (later, overflows) = track.frameDuration.multipliedReportingOverflow(by: UInt64(index))
            let (time, isOutside) = nanoseconds.addingReportingOverflow(later)
            return Entry(time: overflows || isOutside ? nanoseconds : time, jpeg: track.frame(frame) ?? [])
        }
        return laced.popLast()
    }

    // MARK: Elements

    /// The ID of the next element and its size, nil if that is unknown; nil at the end.
    private mutating func element() throws(Files.Failure) -> (id: UInt32, size: UInt64?)? {
        guard !isCut, let first = try input.byte() else { return nil }
        guard let id = try variable(first, atMost: 4, keepsMarker: true),
            let sizeStart = try input.byte(), let size = try variable(sizeStart, atMost: 8, keepsMarker: false)
        else {
            isCut = true
            return nil
        }
        let length = sizeStart.leadingZeroBitCount + 1
        let isUnknown = size == (1 << (7 * UInt64(length))) - 1
        return (UInt32(truncatingIfNeeded: id), isUnknown ? nil : size)
    }

    /// A number whose first byte states its length; nil if the file ends within it, or if it is malformed.
    private func variable(_ first: UInt8, atMost most: Int, keepsMarker: Bool) throws(Files.Failure) -> UInt64? {
        let more = first.leadingZeroBitCount
        guard more < most else { return nil }
        var number = UInt64(keepsMarker ? first : first & (0x7F >> UInt8(more)))
        for _ in 0..<more {
            guard let next = try input.byte() else { return nil }
            number = number << 8 | UInt64(next)
        }
        return number
    }

    private mutating func number(_ size: UInt64?) throws -> UInt64 {
        try content(size, atMost: 8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The content of an element; nothing if the file ends within it.
    private mutating func content(_ size: UInt64?, atMost most: Int) throws -> [UInt8] {
        guard let size, size <= UInt64(most) else { throw wrong("an element that is too large") }
        guard let bytes = try input.bytes(Int(size)) else {
            isCut = true
            return []
        }
        return bytes
    }

    private func wrong(_ what: String) -> CommandFailure {
        CommandFailure(.badData, "\(input.name): \(what)")
    }
}
