/// The way from a candidate's start marker along its segments and through its coded data.
struct JPEGWalk: Sendable {
    /// A marker on the way, and whether a frame header came before it: what follows depends on nothing else.
    struct Place: Hashable {
        let offset: Int
        let hasFrameHeader: Bool
    }

    /// A segment, with its marker.
    struct Segment {
        let code: UInt8
        let range: Range<Int>
    }

    /// How a walk goes on.
    enum Step {
        /// More of the stream is needed.
        case incomplete
        /// This is no JPEG.
        case failed
        /// The image ends before this place; whether its end marker is the last that came before it.
        case ended(Int, isComplete: Bool)
        /// It has come to a marker of another walk, and goes on as that does.
        case met
        /// Its segments have led to this place, which is not before the limit, and a marker is expected there.
        case passed(Int)
    }

    private enum Phase {
        /// A marker is expected; whether coded data ended there.
        case marker(isAfterScan: Bool)
        /// In coded data.
        case scan
    }

    /// More segments than any encoder writes.
    private static let maximumSegmentCount = 4096

    let start: Int
    private(set) var segments: [Segment] = []
    private(set) var places: [Place] = []
    private(set) var size = (width: 0, height: 0)
    private(set) var hasScan = false
    private var hasFrameHeader = false
    private var phase = Phase.marker(isAfterScan: false)
    /// The place to continue at.
    private var position: Int
    /// How many bytes of the segment at `position` have been searched for a start marker.
    private var searchedOfSegment = 0
    private var steps = 0
    private var searchedByteCount = 0

    init(start: Int) {
        self.start = start
        position = start + 2
    }

    mutating func takeSteps() -> Int {
        defer { steps = 0 }
        return steps
    }

    mutating func takeSearchedByteCount() -> Int {
        defer { searchedByteCount = 0 }
        return searchedByteCount
    }

    /// Goes on, as far as `bytes` allow, which are the stream from the place `base` on.
    ///
    /// It fails at `deadEnds`, markers that are known to lead nowhere, and stops at `others`, those of another walk, and at
    /// `limit`.
    mutating func advance(
        in bytes: UnsafeBufferPointer<UInt8>,
        at base: Int,
        _ deadEnds: Set<Place>,
        until others: Set<Int> = [],
        limit: Int = .max
    ) -> Step {
        while true {
            if position >= limit {
                // Coded data that begins there shows nothing: anything may follow.
                if case .marker = phase { return .passed(position) } else { return .failed }
            }
            guard position - start <= JPEGStreamReader.maximumImageByteCount else { return .failed }
            let index = position - base
            guard index < bytes.count else { return .incomplete }
            steps += 1
            let step: Step?
            switch phase {
            case .marker(let isAfterScan):
                step = unsafe takeMarker(bytes, index, base, deadEnds, isAfterScan: isAfterScan, others)
            case .scan: step = unsafe takeScan(bytes, index, base)
            }
            if let step { return step }
        }
    }

    /// Searches coded data for the next marker.
    private mutating func takeScan(_ bytes: UnsafeBufferPointer<UInt8>, _ first: Int, _ base: Int) -> Step? {
        var index = first
        defer { searchedByteCount += position - base - first }
        while true {
            guard let marker = unsafe JPEGMarkers.index(of: 0xFF, in: bytes, from: index) else {
                position = base + bytes.count
                return .incomplete
            }
            position = base + marker
            guard marker + 1 < bytes.count else { return .incomplete }
            let code = unsafe bytes[marker + 1]
            if code == 0xD8 {
                guard marker + JPEGMarkers.startByteCount <= bytes.count else { return .incomplete }
                if unsafe JPEGMarkers.isStart(bytes, marker) { return .ended(position, isComplete: false) }
            } else if code == 0xD9 || JPEGMarkers.hasLength(code) {
                phase = .marker(isAfterScan: true)
                return nil
            }
            // A byte FF of data, a restart marker, a fill byte, or damage.
            index = code == 0xFF ? marker + 1 : marker + 2
        }
    }

    private mutating func takeMarker(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ first: Int,
        _ base: Int,
        _ deadEnds: Set<Place>,
        isAfterScan: Bool,
        _ others: Set<Int>
    ) -> Step? {
        guard unsafe bytes[first] == 0xFF else { return .failed }
        var index = first + 1
        while index < bytes.count, unsafe bytes[index] == 0xFF { index += 1 }
        // Of any number of fill bytes, the last belongs to the marker.
        position = base + index - 1
        guard index < bytes.count else { return .incomplete }
        let code = unsafe bytes[index]
        switch code {
        case 0xD9:
            if others.contains(position) { return .met }
            return hasScan ? .ended(position + 2, isComplete: true) : .failed
        case 0xD8:
            guard hasScan else { return .failed }
            guard index - 1 + JPEGMarkers.startByteCount <= bytes.count else { return .incomplete }
            return unsafe JPEGMarkers.isStart(bytes, index - 1) ? .ended(position, isComplete: false) : .failed
        case 0x01, 0xD0...0xD7:
            position += 2
            return nil
        case _ where JPEGMarkers.hasLength(code):
            // The data of a thumbnail that is cut off leads to the markers of its image too.
            if others.contains(position) { return isAfterScan ? .failed : .met }
            return unsafe takeSegment(code, bytes, index - 1, deadEnds)
        default:
            return .failed
        }
    }

    /// Looks for a start marker in a segment that follows coded data.
    ///
    /// Thumbnails come before, so with one it is no segment, but damage, or what follows a cut.
    private mutating func search(_ bytes: UnsafeBufferPointer<UInt8>, _ segment: Range<Int>) -> Step? {
        let content = unsafe UnsafeBufferPointer(rebasing: bytes[..<min(segment.upperBound, bytes.count)])
        let first = segment.lowerBound + 2 + searchedOfSegment
        searchedByteCount += max(content.count - first, 0)
        if unsafe JPEGMarkers.start(in: content, from: first) != nil { return .ended(position, isComplete: false) }
        if content.count < segment.upperBound {
            searchedOfSegment = max(content.count - segment.lowerBound - 2 - (JPEGMarkers.startByteCount - 1), 0)
            return .incomplete
        }
        searchedOfSegment = 0
        return nil
    }

    /// Takes the segment whose marker is at `index`, which is the current position.
    private mutating func takeSegment(
        _ code: UInt8,
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ index: Int,
        _ deadEnds: Set<Place>
    ) -> Step? {
        let place = Place(offset: position, hasFrameHeader: hasFrameHeader)
        guard !deadEnds.contains(place), segments.count < Self.maximumSegmentCount else { return .failed }
        guard index + 3 < bytes.count else { return .incomplete }
        let length = unsafe Int(bytes[index + 2]) << 8 | Int(bytes[index + 3])
        guard length >= 2 else { return .failed }
        if hasScan, let step = unsafe search(bytes, index..<(index + 2 + length)) { return step }
        if JPEGMarkers.isFrameHeader(code) {
            guard !hasFrameHeader, length >= 11 else { return .failed }
            guard index + 9 < bytes.count else { return .incomplete }
            guard unsafe length == 8 + 3 * Int(bytes[index + 9]) else { return .failed }
            size.height = unsafe Int(bytes[index + 5]) << 8 | Int(bytes[index + 6])
            size.width = unsafe Int(bytes[index + 7]) << 8 | Int(bytes[index + 8])
            guard size.width > 0 else { return .failed }
            hasFrameHeader = true
        } else if code == 0xDA {
            guard hasFrameHeader, length >= 8 else { return .failed }
            guard index + 4 < bytes.count else { return .incomplete }
            guard unsafe length == 6 + 2 * Int(bytes[index + 4]) else { return .failed }
            hasScan = true
        }
        phase = code == 0xDA ? .scan : .marker(isAfterScan: false)
        places.append(place)
        segments.append(Segment(code: code, range: position..<(position + 2 + length)))
        position += 2 + length
        return nil
    }
}
