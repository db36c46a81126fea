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
    init(_ output: OutputFile, size: BufferSize) throws(Files.Failure) {
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
    mutating func append(_ jpeg: Span<UInt8>, _ orientation: FrameOrientation, at time: UInt64) throws(Files.Failure) {
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
    consuming func finish() throws(Files.Failure) {
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
