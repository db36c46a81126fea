import JPEGStreams

/// Reads the JPEGs and their times from a Matroska file of this program, or as ffmpeg, GStreamer and mkvmerge write it by
/// default.
///
/// A flat walk over the elements: those that contain others are entered, those of interest are read, all others are
/// skipped. So it makes no difference whether a length is known, and a file that was cut off ends with its last complete
/// frame. What cannot be read so, ffmpeg can rewrite.
struct MatroskaReader {
    /// A frame as it was recorded.
    struct Entry {
        /// Nanoseconds since the beginning of the recording.
        let time: UInt64
        let jpeg: [UInt8]
    }

    /// A track, as far as its entry has been read.
    private struct Track {
        var number: UInt64 = 0
        var codec = ""
        /// What belongs to the codec.
        var codecPrivate: [UInt8] = []
        /// Whether its frames are compressed or encrypted.
        var isEncoded = false

        /// The code of the codec: of a BITMAPINFOHEADER, or a QuickTime image description.
        private var fourCC: String? {
            let offset = codec == "V_MS/VFW/FOURCC" ? 16 : codec == "V_QUICKTIME" ? 4 : nil
            guard let offset, codecPrivate.count >= offset + 4 else { return nil }
            let code = codecPrivate[offset..<offset + 4]
            return code.allSatisfy { 0x20...0x7E ~= $0 } ? String(decoding: code, as: UTF8.self) : nil
        }

        /// The codec, for a person.
        var description: String { fourCC.map { "\(codec) with \($0)" } ?? codec }

        /// Whether its frames are JPEGs: GStreamer describes them as in an AVI file, and mkvmerge as in the file before.
        var isMotionJPEG: Bool { codec == "V_MJPEG" || ["MJPG", "JPEG"].contains(fourCC?.uppercased()) }
    }

    /// The maximum number of bytes of a block: a JPEG, the block's own header, and a segment with the orientation.
    static let maximumFrameLength = JPEGStreamReader.maximumImageByteCount + 64

    private let input: InputFile
    private var scale: UInt64 = 1_000_000
    private var clusterTime: UInt64 = 0
    /// The tracks of the segment, the last of which may still be described.
    private var tracks: [Track] = []
    /// The track that is read; nil until the first frames.
    private var track: Track?
    /// Where the last element begins.
    private var start: UInt64 = 0
    /// The last element of the file or its segment, and where it ends, if that is known.
    private var section: (element: EBML?, end: UInt64?)

    /// Whether this program has written the file, which holds what was received, byte for byte.
    private(set) var isOwn = false
    /// Whether the file ends within an element.
    private(set) var isCut = false

    init(_ input: InputFile) {
        self.input = input
    }

    /// The name of the file.
    var name: String { input.name }

    /// Whether bytes begin as a Matroska file does.
    static func begins(_ bytes: some Sequence<UInt8>) -> Bool { bytes.starts(with: EBML.header.id) }

    /// The next frame; nil at the end.
    mutating func next() throws(CommandFailure) -> Entry? {
        while let head = try nextHead() {
            if let entry = try take(head) { return entry }
        }
        if track == nil, !isCut { try chooseTrack() }
        return nil
    }

    /// The head of the next element, whose content is next in the file; nil at the end.
    private mutating func nextHead() throws(CommandFailure) -> EBMLHead? {
        guard !isCut else { return nil }
        start = input.offset
        let bytes = try input.peek(EBMLHead.maximumLength)
        if section.end.map({ start >= $0 }) ?? false { section = (nil, nil) }
        guard let head = EBMLHead(bytes) else {
            guard bytes.count < EBMLHead.maximumLength else { throw damaged() }
            isCut = !bytes.isEmpty || section.end != nil
            return nil
        }
        let end = head.size.map { start + UInt64(head.length) + $0 }
        if head.isTop {
            // A cluster that ends before its size has lost a frame; other elements are entered whatever they contain.
            if isOwn, section.element == .cluster, section.end != nil { throw damaged() }
            section = (head.element, end)
        }
        if let last = section.end, (end ?? 0) > last { throw damaged() }
        guard head.size != nil || head.isEntered, !isOwn || isExpected(head) else { throw damaged() }
        _ = try input.skip(UInt64(head.length))
        return head
    }

    /// Whether an element may be in a recording of this program where it is, which editors may have added tags to.
    private func isExpected(_ head: EBMLHead) -> Bool {
        switch section.element {
        case .cluster: head.isTop || head.element == .timestamp || head.element == .simpleBlock
        case nil: head.element == .void || head.element == .checksum
        default: head.element != nil
        }
    }

    /// Handles an element; returns the frame if it holds one.
    private mutating func take(_ head: EBMLHead) throws(CommandFailure) -> Entry? {
        switch head.element {
        case .segment:
            // Another one may follow, with tracks and times of its own.
            (tracks, track, scale, clusterTime, isOwn) = ([], nil, 1_000_000, 0, false)
        case .cluster, .info, .tracks, .blockGroup:
            break
        case .trackEntry:
            tracks.append(Track())
        case .timestampScale:
            scale = max(1, try number(head))
        case .muxingApplication where head.size == UInt64(MatroskaWriter.application.utf8.count):
            isOwn = try content(head).elementsEqual(MatroskaWriter.application.utf8)
        case .timestamp:
            clusterTime = try number(head)
        case .simpleBlock, .block:
            return try frame(ofBlock: head)
        case .trackNumber, .codecID, .codecPrivate, .contentEncodings:
            try describe(head)
        default:
            try skip(head)
        }
        return nil
    }

    // MARK: Tracks

    /// Takes a part of the last track's description.
    private mutating func describe(_ head: EBMLHead) throws(CommandFailure) {
        guard var last = tracks.popLast() else { return try skip(head) }
        defer { tracks.append(last) }
        switch head.element {
        case .trackNumber: last.number = try number(head)
        case .codecID: last.codec = String(decoding: try content(head).prefix { $0 != 0 }, as: UTF8.self)
        // Longer ones belong to codecs that are not read.
        case .codecPrivate where (head.size ?? .max) <= 65_536: last.codecPrivate = try content(head)
        case .contentEncodings:
            last.isEncoded = true
            try skip(head)
        default: try skip(head)
        }
    }

    /// Chooses the first track of Motion JPEG, once all are described; throws what the tracks are if none can be read.
    private mutating func chooseTrack() throws(CommandFailure) {
        guard track == nil else { return }
        guard !tracks.isEmpty else { throw wrong("no Motion JPEG track is described before its frames") }
        let candidates = tracks.filter(\.isMotionJPEG)
        track = candidates.first { !$0.isEncoded }
        guard track == nil else { return }
        if let candidate = candidates.first {
            throw wrong("its Motion JPEG track \(candidate.number) is compressed or encrypted")
        }
        let list = tracks.map { "track \($0.number) is \($0.description)" }.joined(separator: ", ")
        throw CommandFailure(
            .badData,
            "\(input.name): no Motion JPEG track: \(list); convert it: ffmpeg -i FILE -c:v mjpeg -q:v 2 OUT.mkv"
        )
    }

    // MARK: Blocks

    /// The frame in a block: the track's number, a time relative to the cluster's, flags, and the JPEG.
    private mutating func frame(ofBlock head: EBMLHead) throws(CommandFailure) -> Entry? {
        try chooseTrack()
        let start = try input.peek(Int(clamping: min(head.size ?? 0, 11)))
        guard start.count >= min(head.size ?? 0, 11), let (number, length) = EBMLHead.number(in: start) else {
            try skip(head)
            guard isCut else { throw damaged() }
            return nil
        }
        guard number == track?.number else {
            // Among several tracks, it may as well be that of another one.
            guard tracks.count > 1 else { throw damaged() }
            try skip(head)
            return nil
        }
        let fields = start.dropFirst(length).prefix(3).map(UInt16.init)
        guard fields.count == 3 else { throw damaged() }
        guard fields[2] & 0x06 == 0 else { throw wrong("several of its frames are in one block") }
        let jpeg = try content(head).dropFirst(length + 3)
        guard !isCut else { return nil }
        let distance = Int64(Int16(bitPattern: fields[0] << 8 | fields[1]))
        guard let relative = Int64(exactly: clusterTime)?.addingReportingOverflow(distance), !relative.overflow,
            let time = UInt64(exactly: relative.partialValue)?.multipliedReportingOverflow(by: scale), !time.overflow
        else { throw damaged() }
        return Entry(time: time.partialValue, jpeg: Array(jpeg))
    }

    // MARK: Elements

    private mutating func number(_ head: EBMLHead) throws(CommandFailure) -> UInt64 {
        guard (head.size ?? 0) <= 8 else { throw damaged() }
        return try content(head).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The content of an element; nothing if the file ends within it.
    private mutating func content(_ head: EBMLHead) throws(CommandFailure) -> [UInt8] {
        guard let size = head.size, size <= UInt64(Self.maximumFrameLength) else {
            throw wrong("the element at byte \(start) is larger than any frame")
        }
        guard let bytes = try input.bytes(Int(size)) else {
            isCut = true
            return []
        }
        return bytes
    }

    /// Skips what an element contains.
    private mutating func skip(_ head: EBMLHead) throws(CommandFailure) {
        guard try !input.skip(head.size ?? 0) else { return }
        // What is not known may be damage, whose length means nothing.
        guard head.element != nil else { throw damaged() }
        isCut = true
    }

    // MARK: Sentences

    private func damaged() -> CommandFailure { wrong("damaged at byte \(start), and not read beyond") }

    /// What ffmpeg makes right by writing the file again.
    private func wrong(_ what: String) -> CommandFailure {
        CommandFailure(.badData, "\(input.name): \(what); rewrite it: ffmpeg -i FILE -c copy OUT.mkv")
    }
}

extension EBMLHead {
    /// Whether it is a file's or a segment's own element (RFC 9559, 5.1), which is never within another one.
    fileprivate var isTop: Bool {
        switch element {
        case .header, .segment, .seekHead, .info, .tracks, .cluster, .cues, .attachments, .chapters, .tags: true
        default: false
        }
    }

    /// Whether its content is read as that of what contains it, which does not take its size.
    fileprivate var isEntered: Bool {
        switch element {
        case .segment, .cluster, .info, .tracks, .trackEntry, .blockGroup: true
        default: false
        }
    }
}
