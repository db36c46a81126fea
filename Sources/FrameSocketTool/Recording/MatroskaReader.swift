import JPEGStreams

/// Reads the JPEGs and their times from a Matroska file of any program.
///
/// A flat walk over the elements: those that contain others are entered, those of interest are read, all others are
/// skipped. So it makes no difference whether a length is known, and a truncated file ends with its last complete
/// frame. Damage costs the rest of its cluster.
struct MatroskaReader {
    /// A frame as it was recorded.
    struct Entry {
        /// Nanoseconds since the beginning of the recording.
        let time: UInt64
        let jpeg: [UInt8]
    }

    /// What the file consists of.
    enum Part {
        /// A frame; without bytes if it cannot be decompressed.
        case frame(Entry)
        case damage(MatroskaDamage)
    }

    /// Ends the reading of an element.
    private struct Damaged: Error {
        let damage: MatroskaDamage
    }

    /// The maximum number of bytes of a block: a JPEG, the block's own header, and a segment with the orientation.
    static let maximumFrameLength = JPEGStreamReader.maximumImageByteCount + 64

    private let name: String
    private var walk: MatroskaWalk
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

    /// Whether this program has written the file, which holds what was received, byte for byte.
    private(set) var isOwn = false

    /// Creates a reader.
    init(_ input: InputFile) {
        name = input.name
        walk = MatroskaWalk(input)
    }

    /// Whether bytes begin as a Matroska file does.
    static func begins(_ bytes: some Sequence<UInt8>) -> Bool { bytes.starts(with: EBML.header.id) }

    /// Whether the file ends within an element.
    var isCut: Bool { walk.isCut }

    /// The next frame, or damage; nil at the end.
    mutating func next() throws(CommandFailure) -> Part? {
        if let entry = laced.popLast() { return .frame(entry) }
        do {
            while true {
                switch try walk.next() {
                case .element(let head): if let entry = try take(head) { return .frame(entry) }
                case .damage(let damage): return .damage(damage)
                case .end:
                    try end()
                    return nil
                }
            }
        } catch let damaged as Damaged {
            return .damage(damaged.damage)
        } catch let failure as Files.Failure {
            throw CommandFailure(.noInput, failure.message)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(.badData, "\(name): \(error)")
        }
    }

    /// Checks that there was something to read.
    private mutating func end() throws(CommandFailure) {
        try chooseTrack()
        if track == nil { throw wrong("no Motion JPEG track") }
        if hasUnknownFrames { throw wrong("its tracks follow its frames; rewrite it: ffmpeg -i FILE -c copy OUT.mkv") }
    }

    /// Handles an element; returns the first frame if it holds any.
    private mutating func take(_ head: MatroskaHead) throws -> Entry? {
        switch head.element {
        case .segment:
            // Another one may follow, with tracks and times of its own.
            (tracks, track, scale, clusterTime, isOwn) = ([], nil, 1_000_000, 0, false)
        case .info, .tracks, .blockGroup, .contentEncodings:
            break
        case .cluster:
            try chooseTrack()
        case .trackEntry:
            tracks.append(MatroskaTrack())
        case .timestampScale:
            scale = max(1, try number(head))
        case .muxingApplication where head.size == UInt64(MatroskaWriter.application.utf8.count):
            isOwn = try content(head, atMost: .max).elementsEqual(MatroskaWriter.application.utf8)
        case .timestamp:
            clusterTime = try number(head)
        case .simpleBlock, .block:
            return try firstFrame(ofBlock: head)
        case .trackNumber, .codecID, .codecPrivate, .frameDuration, .contentEncoding, .encodingOrder, .encodingScope,
            .encodingType, .contentCompression, .compressionAlgorithm, .compressionSettings:
            try describe(head)
        default:
            try skip(head)
        }
        return nil
    }

    /// Skips an element, unless that would skip frames.
    private mutating func skip(_ head: MatroskaHead) throws {
        let isLost = try isUnrecognizedBlock(head)
        if let damage = try walk.skip(head) { throw Damaged(damage: damage) }
        guard isLost, !isCut else { return }
        walk.countAsBlock()
        throw damaged(.lostFrame)
    }

    /// Whether the content of an element begins as a frame's, although the element is none.
    private func isUnrecognizedBlock(_ head: MatroskaHead) throws -> Bool {
        // A block's header, and the first bytes of a JPEG that is not compressed.
        guard let size = head.size, size > 8, let track, walk.isInCluster, track.encodings.isEmpty else { return false }
        let start = try walk.input.peek(12)
        guard let number = MatroskaBlock.number(in: start), number.value == track.number else { return false }
        return start.dropFirst(number.length + 3).starts(with: [0xFF, 0xD8])
    }

    // MARK: Tracks

    /// Takes a part of the last track's description, or of its last encoding.
    private mutating func describe(_ head: MatroskaHead) throws {
        guard var last = tracks.popLast() else { return try skip(head) }
        defer { tracks.append(last) }
        switch head.element {
        case .trackNumber: last.number = try number(head)
        case .codecID: last.codec = String(decoding: try content(head, atMost: 256).prefix { $0 != 0 }, as: UTF8.self)
        // Longer ones belong to codecs that are not read.
        case .codecPrivate where (head.size ?? .max) > 65_536: try skip(head)
        case .codecPrivate: last.codecPrivate = try content(head, atMost: 65_536)
        case .frameDuration: last.frameDuration = try number(head)
        case .contentEncoding: last.encodings.append(MatroskaEncoding())
        default:
            guard var encoding = last.encodings.popLast() else { return try skip(head) }
            switch head.element {
            case .encodingOrder: encoding.order = try number(head)
            case .encodingScope: encoding.scope = try number(head)
            case .encodingType: encoding.type = try number(head)
            // zlib, unless an algorithm follows.
            case .contentCompression: encoding.algorithm = encoding.algorithm ?? 0
            case .compressionAlgorithm: encoding.algorithm = try number(head)
            default: encoding.settings = try content(head, atMost: 65_536)
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
    private mutating func firstFrame(ofBlock head: MatroskaHead) throws -> Entry? {
        try chooseTrack()
        let start = try walk.input.peek(Int(clamping: min(head.size ?? 0, 8)))
        if let number = MatroskaBlock.number(in: start)?.value, number != track?.number {
            hasUnknownFrames = hasUnknownFrames || track == nil
            try skip(head)
            // Among several tracks, it may as well be that of another one.
            guard !isCut, let track, tracks.count == 1 else { return nil }
            throw damaged(.foreignTrack(number, only: track.number))
        }
        if let size = head.size, size <= UInt64(Self.maximumFrameLength),
            let damage = try walk.damage(inBlockOf: size)
        {
            throw Damaged(damage: damage)
        }
        let bytes = try content(head, atMost: Self.maximumFrameLength)
        guard !isCut, let track else { return nil }
        guard let block = MatroskaBlock(bytes) else { throw damaged(.badBlock) }
        let distance = UInt64(block.time.magnitude)
        let (time, isOutside) =
            block.time < 0
            ? clusterTime.subtractingReportingOverflow(distance) : clusterTime.addingReportingOverflow(distance)
        let (nanoseconds, overflows) = time.multipliedReportingOverflow(by: scale)
        guard !isOutside, !overflows else { throw damaged(.badTime) }
        laced = block.frames.enumerated().reversed().map { index, frame in
            let (later, overflows) = track.frameDuration.multipliedReportingOverflow(by: UInt64(index))
            let (time, isOutside) = nanoseconds.addingReportingOverflow(later)
            return Entry(time: overflows || isOutside ? nanoseconds : time, jpeg: track.frame(frame) ?? [])
        }
        return laced.popLast()
    }

    // MARK: Elements

    private mutating func number(_ head: MatroskaHead) throws -> UInt64 {
        try content(head, atMost: 8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The content of an element; nothing if the file ends within it.
    private mutating func content(_ head: MatroskaHead, atMost most: Int) throws -> [UInt8] {
        guard let size = head.size, size <= UInt64(most) else {
            throw Damaged(damage: try walk.recover(from: walk.start, .tooLarge))
        }
        return try walk.content(size) ?? []
    }

    /// Damage that ends with the last element, so that nothing has to be searched for.
    private func damaged(_ reason: MatroskaDamage.Reason) -> Damaged {
        Damaged(damage: MatroskaDamage(start: walk.start, extent: .to(walk.input.offset), reason: reason))
    }

    private func wrong(_ what: String) -> CommandFailure {
        CommandFailure(.badData, "\(name): \(what)")
    }
}
