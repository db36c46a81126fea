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

    private let input: InputFile
    private var scale: UInt64 = 1_000_000
    private var clusterTime: UInt64 = 0
    /// The track that is being described, and the track that is read.
    private var described: (number: UInt64, codec: String) = (0, "")
    private var track: UInt64?
    /// Whether the file ends within an element.
    private(set) var isCut = false

    /// Creates a reader.
    init(_ input: InputFile) {
        self.input = input
    }

    /// Whether bytes begin as a Matroska file does.
    static func begins(_ bytes: some Sequence<UInt8>) -> Bool { bytes.starts(with: EBML.header.id) }

    /// The next frame; nil at the end.
    mutating func next() throws(CommandFailure) -> Entry? {
        do {
            while let (id, size) = try element() {
                if let entry = try take(EBML(rawValue: id), size) { return entry }
            }
        } catch let failure as Files.Failure {
            throw CommandFailure(.noInput, failure.message)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(.badData, "\(input.name): \(error)")
        }
        if track == nil { throw CommandFailure(.badData, "\(input.name): no Motion JPEG track") }
        return nil
    }

    /// Handles an element; returns the frame if it holds one.
    private mutating func take(_ element: EBML?, _ size: UInt64?) throws -> Entry? {
        switch element {
        case .segment, .info, .tracks, .cluster, .blockGroup:
            break
        case .trackEntry:
            described = (0, "")
        case .timestampScale:
            scale = max(1, try number(size))
        case .trackNumber:
            described.number = try number(size)
            chooseTrack()
        case .codecID:
            described.codec = String(decoding: try content(size, atMost: 256), as: UTF8.self)
            chooseTrack()
        case .timestamp:
            clusterTime = try number(size)
        case .simpleBlock, .block:
            // The block's own header and a segment with the orientation come on top of the JPEG.
            return try entry(try content(size, atMost: JPEGStreamReader.maximumImageByteCount + 64))
        default:
            guard let size else { throw wrong("an element without an end") }
            if try !input.skip(size) { isCut = true }
        }
        return nil
    }

    private mutating func chooseTrack() {
        if track == nil, described.number > 0, described.codec == "V_MJPEG" { track = described.number }
    }

    /// The frame in a block: the track's number, a time relative to the cluster's, flags, and the JPEG.
    private func entry(_ block: [UInt8]) throws -> Entry? {
        guard let first = block.first, first & 0x80 != 0, block.count >= 4 else { return nil }
        guard UInt64(first & 0x7F) == track else { return nil }
        guard block[3] & 0x06 == 0 else { throw wrong("several frames in one block") }
        let relative = Int16(bitPattern: UInt16(block[1]) << 8 | UInt16(block[2]))
        let distance = UInt64(relative.magnitude)
        let (time, isOutside) =
            relative < 0
            ? clusterTime.subtractingReportingOverflow(distance) : clusterTime.addingReportingOverflow(distance)
        let (nanoseconds, overflows) = time.multipliedReportingOverflow(by: scale)
        guard !isOutside, !overflows else { throw wrong("a time beyond all bounds") }
        return Entry(time: nanoseconds, jpeg: Array(block[4...]))
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
