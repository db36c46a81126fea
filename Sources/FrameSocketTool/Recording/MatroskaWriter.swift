import FrameSocket

/// Writes JPEGs and their times as a Matroska file, one cluster per frame, so that it is playable at any time.
///
/// A segment of unknown length contains clusters that each carry their own time, in nanoseconds: nothing that follows
/// is needed to read a frame, and nothing before it is changed. Only an orderly end puts an index and the duration into
/// reserved places, for players that seek.
struct MatroskaWriter: ~Copyable {
    private let output: OutputFile
    /// What was written, and where the segment's content begins.
    private var offset: UInt64 = 0
    private let segmentStart: UInt64
    private let durationOffset: UInt64
    private var cues: [(time: UInt64, position: UInt64)] = []
    private var lastTime: UInt64 = 0
    private var lastInterval: UInt64 = 0

    /// The time between two entries of the index.
    private static let cueInterval: UInt64 = 1_000_000_000

    /// The name of what writes the file.
    static let application = "framesocket"

    /// Writes the header.
    ///
    /// - Parameters:
    ///   - output: The file, at its beginning.
    ///   - size: The size of the first frame; others may have their own.
    /// - Throws: The system's error.
    init(_ output: OutputFile, size: BufferSize) throws(CommandFailure) {
        let header = EBML.header.element([
            EBML.version.element(1), EBML.readVersion.element(1),
            EBML.maximumIDLength.element(4), EBML.maximumSizeLength.element(8),
            EBML.documentType.element("matroska"),
            EBML.documentTypeVersion.element(4), EBML.documentTypeReadVersion.element(2),
        ])
        let segment = EBML.segment.id + EBML.unknownSize
        let seekHead = Self.void(Self.seekHead(at: 0).count)
        let info = EBML.info.element([
            Self.void(EBML.duration.element(0 as UInt64).count),
            EBML.timestampScale.element(1),
            EBML.muxingApplication.element(Self.application), EBML.writingApplication.element(Self.application),
        ])
        let tracks = EBML.tracks.element([
            EBML.trackEntry.element([
                EBML.trackNumber.element(1), EBML.trackUID.element(1), EBML.trackType.element(1),
                EBML.lacingFlag.element(0 as UInt64), EBML.codecID.element("V_MJPEG"),
                EBML.video.element([
                    EBML.interlacedFlag.element(2),
                    EBML.pixelWidth.element(UInt64(max(0, size.width))),
                    EBML.pixelHeight.element(UInt64(max(0, size.height))),
                ]),
            ])
        ])
        self.output = output
        segmentStart = UInt64(header.count + segment.count)
        // After the info's own ID and size.
        durationOffset = segmentStart + UInt64(seekHead.count + 4 + 8)
        let head = header + segment + seekHead + info + tracks
        try output.write(head)
        offset = UInt64(head.count)
    }

    /// Adds a frame.
    ///
    /// - Parameters:
    ///   - jpeg: The complete JPEG, without padding.
    ///   - orientation: The orientation; see ``OrientationSegment``.
    ///   - time: Nanoseconds since the first frame, later than the previous frame's.
    /// - Throws: The system's error.
    mutating func append(_ jpeg: Span<UInt8>, _ orientation: FrameOrientation, at time: UInt64) throws(CommandFailure) {
        let (start, replaced) = OrientationSegment.beginning(for: orientation, of: jpeg)
        let rest = jpeg.extracting(replaced...)
        // Track 1, no time of its own, and the flag of a key frame.
        let blockHead: [UInt8] = [0x81, 0, 0, 0x80]
        let block =
            EBML.simpleBlock.id + EBML.size(blockHead.count + start.count + rest.count) + blockHead + start
        let timestamp = EBML.timestamp.element(time)
        let head =
            EBML.cluster.id + EBML.size(timestamp.count + block.count + rest.count) + timestamp + block
        if cues.isEmpty || time >= (cues.last?.time ?? 0) &+ Self.cueInterval {
            cues.append((time, offset &- segmentStart))
        }
        try output.write(head)
        try output.write(rest)
        offset &+= UInt64(head.count + rest.count)
        lastInterval = time &- lastTime
        lastTime = time
    }

    /// Adds the index and the duration, which players need in order to seek.
    ///
    /// The index is complete before anything points to it, so that this too may be interrupted anywhere.
    consuming func finish() throws(CommandFailure) {
        guard output.isSeekable else { return }
        let points = cues.map { cue in
            EBML.cuePoint.element([
                EBML.cueTime.element(cue.time),
                EBML.cueTrackPositions.element([
                    EBML.cueTrack.element(1), EBML.cueClusterPosition.element(cue.position),
                ]),
            ])
        }
        try output.write(EBML.cues.element(points))
        try output.write(Self.seekHead(at: offset &- segmentStart), at: segmentStart)
        // The last frame is shown for as long as the one before it.
        let duration = Double(lastTime &+ lastInterval).bitPattern
        try output.write(EBML.duration.element(duration), at: durationOffset)
    }

    /// Tells a reader where the index begins; its length is constant.
    private static func seekHead(at position: UInt64) -> [UInt8] {
        EBML.seekHead.element(
            EBML.seek.element([
                EBML.seekID.element(EBML.cues.id), EBML.seekPosition.element(position),
            ])
        )
    }

    /// An element that readers skip, `length` bytes in all, at least 9.
    private static func void(_ length: Int) -> [UInt8] {
        EBML.void.element((9..<max(9, length)).map { _ in 0 })
    }
}

/// The elements of a Matroska file that are written or read here, by their IDs (RFC 8794, RFC 9559).
enum EBML: UInt32 {
    case header = 0x1A45_DFA3
    case version = 0x4286
    case readVersion = 0x42F7
    case maximumIDLength = 0x42F2
    case maximumSizeLength = 0x42F3
    case documentType = 0x4282
    case documentTypeVersion = 0x4287
    case documentTypeReadVersion = 0x4285
    case void = 0xEC
    case checksum = 0xBF

    case segment = 0x1853_8067
    case seekHead = 0x114D_9B74
    case seek = 0x4DBB
    case seekID = 0x53AB
    case seekPosition = 0x53AC

    case info = 0x1549_A966
    case timestampScale = 0x2AD7B1
    case duration = 0x4489
    case muxingApplication = 0x4D80
    case writingApplication = 0x5741

    case tracks = 0x1654_AE6B
    case trackEntry = 0xAE
    case trackNumber = 0xD7
    case trackUID = 0x73C5
    case trackType = 0x83
    case lacingFlag = 0x9C
    case codecID = 0x86
    case codecPrivate = 0x63A2
    case contentEncodings = 0x6D80
    case video = 0xE0
    case interlacedFlag = 0x9A
    case pixelWidth = 0xB0
    case pixelHeight = 0xBA

    case cluster = 0x1F43_B675
    case timestamp = 0xE7
    case simpleBlock = 0xA3
    case blockGroup = 0xA0
    case block = 0xA1
    case position = 0xA7
    case previousSize = 0xAB

    case attachments = 0x1941_A469
    case chapters = 0x1043_A770
    case tags = 0x1254_C367

    case cues = 0x1C53_BB6B
    case cuePoint = 0xBB
    case cueTime = 0xB3
    case cueTrackPositions = 0xB7
    case cueTrack = 0xF7
    case cueClusterPosition = 0xF1

    /// The size of an element of unknown length.
    static let unknownSize: [UInt8] = [0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]

    /// The ID as it is written, without leading zero bytes.
    var id: [UInt8] { Array(Self.bytes(UInt64(rawValue)).drop { $0 == 0 }) }

    /// A complete element with the given content.
    func element(_ content: [UInt8]) -> [UInt8] { id + Self.size(content.count) + content }

    /// A complete element that contains others.
    func element(_ children: [[UInt8]]) -> [UInt8] { element(Array(children.joined())) }

    /// A complete element with a number in eight bytes, so that its length never depends on the number.
    func element(_ number: UInt64) -> [UInt8] { element(Self.bytes(number)) }

    /// A complete element with text.
    func element(_ text: String) -> [UInt8] { element(Array(text.utf8)) }

    /// A size in eight bytes: a byte that states the length, and seven of the number.
    static func size(_ count: Int) -> [UInt8] { [0x01] + bytes(UInt64(max(0, count))).dropFirst() }

    /// The bytes of a number, the most significant first.
    static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
    }
}

/// How an element begins: its ID, and the size of its content.
struct EBMLHead {
    static let maximumLength = 12

    let id: UInt32
    /// nil if it is unknown.
    let size: UInt64?
    /// The number of bytes of ID and size.
    let length: Int

    var element: EBML? { EBML(rawValue: id) }

    /// Parses the beginning of an element; nil if no element begins so, or if the bytes end within it.
    init?(_ bytes: ArraySlice<UInt8>) {
        let idLength = (bytes.first?.leadingZeroBitCount ?? 8) + 1
        guard idLength <= 4, let (size, sizeLength) = Self.number(in: bytes.dropFirst(idLength)) else { return nil }
        id = bytes.prefix(idLength).reduce(0) { $0 << 8 | UInt32($1) }
        self.size = size == (1 << (7 * UInt64(sizeLength))) - 1 ? nil : size
        length = idLength + sizeLength
    }

    /// The number at the beginning of bytes whose first one states its length; nil if they are too few.
    static func number(in bytes: ArraySlice<UInt8>) -> (value: UInt64, length: Int)? {
        guard let first = bytes.first, first != 0 else { return nil }
        let length = first.leadingZeroBitCount + 1
        guard bytes.count >= length else { return nil }
        let start = UInt64(first) & (0x7F >> UInt64(length - 1))
        return (bytes.dropFirst().prefix(length - 1).reduce(start) { $0 << 8 | UInt64($1) }, length)
    }
}
