/// Finds the JPEGs in a stream of bytes, one after another, whatever stands between them.
///
/// ```
/// var reader = JPEGStreamReader()
/// while try reader.fill({ try read(into: &$0) }) {
///     while let part = reader.next() { … }
/// }
/// reader.finish()
/// while let part = reader.next() { … }
/// ```
///
/// The parts cover the stream without gaps and overlaps, and do not depend on how it is cut into reads.
///
/// A start marker is only a candidate. It becomes an image when its segments lead, one after another, to coded data and to
/// an end: the end marker, the start marker of another image, or the end of the stream. Otherwise the search continues right
/// behind the candidate's start, so that it costs no image but itself. No byte is looked at more than a few times, whatever
/// the stream contains.
package struct JPEGStreamReader: Sendable {
    /// The maximum size of an image in bytes: 32 MiB, which is also the most that receivers accept.
    package static let maximumImageByteCount = 32 << 20

    /// The maximum number of bytes in a part that is no image; longer runs are several parts.
    package static let maximumRunByteCount = 1 << 20

    /// The bytes that have arrived and do not belong to a part that was returned.
    private var buffer: [UInt8] = []
    /// The place of `buffer`'s first byte in the stream.
    private var base = 0
    /// The place of the first byte that belongs to no part yet.
    private var head = 0
    /// The place before which no candidate begins, unless `walk` is one.
    private var cursor = 0
    private var walk: JPEGWalk?
    /// How long the stream must be before `walk` can go on.
    private var awaited = 0
    private var isFinished = false
    /// What follows the run before it.
    private var ready: JPEGStreamPart?

    /// Markers that have led nowhere, so that no other candidate follows them again.
    private var deadEnds: Set<JPEGWalk.Place> = []
    /// Candidates that are followed although others have failed at the same markers.
    private var preferred: Set<Int> = []
    /// Segments of candidates that failed in their coded data: a JPEG within one is a thumbnail, and not a frame.
    private var shadows: [Range<Int>] = []
    /// How many of these were left when they were last looked through.
    private var remembered = 256
    /// Where the further images of a file end, by where they begin, as its first image states.
    private var furtherImages: [Int: Int] = [:]
    private var envelope = JPEGEnvelope()

    /// The number of steps so far, for tests: markers followed, and stretches that were searched.
    package private(set) var steps = 0
    /// The number of bytes searched so far, for tests.
    package private(set) var searchedByteCount = 0

    package init() {}

    /// The number of bytes of the stream so far.
    package var byteCount: Int { base + buffer.count }

    // MARK: Bytes

    /// Lets `read` append bytes of the stream, and returns what it returns.
    package mutating func fill<Failure: Error>(
        _ read: (inout [UInt8]) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        compact()
        return try read(&buffer)
    }

    /// Appends bytes of the stream.
    package mutating func append(_ bytes: some Sequence<UInt8>) {
        compact()
        buffer.append(contentsOf: bytes)
    }

    /// Ends the stream: what has arrived is all there is.
    package mutating func finish() {
        isFinished = true
    }

    private mutating func compact() {
        // Moving the rest costs less than was consumed since the last time.
        guard head - base >= max(buffer.count / 2, 1) else { return }
        buffer.removeFirst(head - base)
        base = head
    }

    // MARK: Parts

    /// The next part; nil if that takes more of the stream, or if it has ended.
    package mutating func next() -> JPEGStreamPart? {
        while true {
            if let part = ready.take() {
                head += part.byteCount
                return part
            }
            // Long runs are cut by their length alone, so that it does not matter when they are noticed.
            if cursor - head >= Self.maximumRunByteCount { return run(upTo: head + Self.maximumRunByteCount) }
            guard walk != nil || search() else {
                guard isFinished, head < byteCount else { return nil }
                cursor = byteCount
                if cursor - head >= Self.maximumRunByteCount { continue }
                return run(upTo: byteCount)
            }
            guard let start = follow() else { return nil }
            if let start, head < start { return run(upTo: start) }
        }
    }

    /// Returns the bytes up to `end` as a part that is no image.
    private mutating func run(upTo end: Int) -> JPEGStreamPart {
        defer { head = end }
        let bytes = buffer[(head - base)..<(end - base)]
        return .run(JPEGStreamRun(offset: head, byteCount: end - head, isSeparator: JPEGStreamRun.isSeparator(bytes)))
    }

    /// Searches for the next candidate; false if there is none in what has arrived.
    private mutating func search() -> Bool {
        let found = unsafe buffer.withUnsafeBufferPointer { bytes in
            unsafe JPEGMarkers.start(in: bytes, from: cursor - base)
        }
        steps += 1
        searchedByteCount += (found.map { $0 + base } ?? byteCount) - cursor
        guard let found else {
            // A start marker may be cut off at the end.
            cursor = max(cursor, byteCount - (JPEGMarkers.startByteCount - 1))
            return false
        }
        cursor = found + base
        walk = JPEGWalk(start: cursor)
        return true
    }

    /// Follows the candidate as far as it goes.
    ///
    /// - Returns: nil if more of the stream is needed; otherwise where the image begins that is ready now, if one is.
    private mutating func follow() -> Int?? {
        guard isFinished || byteCount >= awaited else { return nil }
        guard var walk else { return .some(nil) }
        self.walk = nil
        let step = unsafe buffer.withUnsafeBufferPointer { bytes in
            unsafe walk.advance(in: bytes, at: base, preferred.contains(walk.start) ? [] : deadEnds)
        }
        steps += walk.takeSteps()
        searchedByteCount += walk.takeSearchedByteCount()
        switch step {
        case .ended(let end, let isComplete): return self.end(walk, at: end, isComplete: isComplete)
        case .incomplete where !isFinished:
            self.walk = walk
            return nil
        case .incomplete where walk.hasScan: return end(walk, at: byteCount, isComplete: false)
        case .incomplete, .failed, .met, .passed:
            fail(walk)
            return .some(nil)
        }
    }

    /// Continues behind the start of a candidate that is no image.
    private mutating func fail(_ walk: JPEGWalk) {
        deadEnds.formUnion(walk.places)
        forget(upTo: walk.start)
        if walk.hasScan { shadows += walk.segments.map(\.range) }
        cursor = walk.start + 2
    }

    /// Forgets what concerns places that no candidate can reach any more.
    private mutating func forget(upTo end: Int) {
        // Seldom, so that it costs nothing.
        guard deadEnds.count + preferred.count + shadows.count > 4 * remembered else { return }
        deadEnds = deadEnds.filter { $0.offset >= end }
        preferred = preferred.filter { $0 >= end }
        shadows.removeAll { $0.upperBound <= end }
        remembered = max(256, deadEnds.count + preferred.count + shadows.count)
    }

    /// Makes an image of a candidate, unless it is none after all; returns its start, or nil if that takes more of the stream.
    private mutating func end(_ walk: JPEGWalk, at end: Int, isComplete: Bool) -> Int?? {
        switch swallowed(by: walk, endingAt: end) {
        case .none: break
        case .image(let inner):
            deadEnds.formUnion(walk.places)
            preferred.insert(inner)
            cursor = walk.start + 2
            return .some(nil)
        case .unknown(let before):
            self.walk = walk
            awaited = before
            return nil
        }
        var range = walk.start..<end
        var isBeforeZeros = false
        if !isComplete {
            envelope.note(before: buffer[(head - base)..<(walk.start - base)])
            let first = min(walk.segments.last?.range.upperBound ?? end, end)
            let data = envelope.start(in: buffer[(first - base)..<(end - base)])
            (range, isBeforeZeros) = (walk.start..<(data.end + base), data.hasZeros)
        }
        guard let isFurther = isListed(range, isComplete: isComplete) else {
            self.walk = walk
            awaited = byteCount + 1
            return nil
        }
        cursor = range.upperBound
        guard !shadows.contains(where: { $0.lowerBound < range.lowerBound && range.upperBound <= $0.upperBound }) else {
            return .some(nil)
        }
        forget(upTo: range.upperBound)
        guard !isFurther else {
            ready = .furtherImage(offset: range.lowerBound, byteCount: range.count)
            return range.lowerBound
        }
        var bytes = Array(buffer[(range.lowerBound - base)..<(range.upperBound - base)])
        furtherImages = JPEGFurtherImages.listed(by: walk, in: bytes)
        if !isComplete { bytes += [0xFF, 0xD9] }
        ready = .image(
            JPEGStreamImage(
                bytes: bytes,
                offset: range.lowerBound,
                byteCount: range.count,
                width: walk.size.width,
                height: walk.size.height,
                isComplete: isComplete,
                isBeforeZeros: isBeforeZeros
            )
        )
        return range.lowerBound
    }

    /// Whether an image is a further one that the first image of its file lists; nil if that takes more of the stream.
    ///
    /// It has to end where the list says, or to be padded with zeros up to there. Where programs have cut the further images
    /// off, and left the list, another file may begin.
    private func isListed(_ range: Range<Int>, isComplete: Bool) -> Bool? {
        guard let end = furtherImages[range.lowerBound] else { return false }
        let padding = end - range.upperBound
        guard padding > 0 else { return padding == 0 }
        guard padding <= Self.maximumRunByteCount || !isComplete else { return false }
        let seen = buffer[(range.upperBound - base)...].prefix(padding)
        guard seen.allSatisfy({ $0 == 0 }) else { return false }
        if seen.count == padding { return true }
        // It may be cut off with the stream.
        return isFinished ? !isComplete : nil
    }

    /// What the segments of a candidate contain beside its own content.
    private enum Swallowed {
        case none
        /// An image begins at this place.
        case image(Int)
        /// That shows once the stream has this many bytes.
        case unknown(Int)
    }

    /// Finds an image that begins in a segment of the candidate and reaches to its end or beyond.
    ///
    /// Then the candidate was cut off within that segment: what seems to be its end is the other's, or that of a thumbnail of
    /// the other. A thumbnail of its own, on the other hand, ends within its segment. Of several images, the last is the one
    /// that contains no other.
    private mutating func swallowed(by walk: JPEGWalk, endingAt end: Int) -> Swallowed {
        var own: Set<Int>?
        var tried: Set<JPEGWalk.Place> = []
        var last: Int?
        for segment in walk.segments {
            var from = segment.range.lowerBound + 2
            while let start = start(from: from, before: segment.range.upperBound) {
                if own == nil { own = Set(walk.places.map(\.offset) + [end - 2]) }
                var inner = JPEGWalk(start: start)
                let step = unsafe buffer.withUnsafeBufferPointer { bytes in
                    unsafe inner.advance(in: bytes, at: base, tried, until: own ?? [], limit: end)
                }
                steps += inner.takeSteps()
                searchedByteCount += inner.takeSearchedByteCount()
                switch step {
                case .met: last = start
                case .incomplete where !isFinished: return .unknown(byteCount + 1)
                case .passed(let place) where !isFinished && place + 2 > byteCount: return .unknown(place + 2)
                case .passed(let place) where isSegment(place): last = start
                case .passed, .incomplete, .failed, .ended: tried.formUnion(inner.places)
                }
                from = start + 2
            }
        }
        return last.map(Swallowed.image) ?? .none
    }

    /// Whether the marker of a segment is at this place.
    private func isSegment(_ place: Int) -> Bool {
        let index = place - base
        guard index + 1 < buffer.count, buffer[index] == 0xFF else { return false }
        return buffer[index + 1] == 0xFF || JPEGMarkers.hasLength(buffer[index + 1])
    }

    /// Returns the first place at or after `from`, and before `end`, where an image may begin.
    private mutating func start(from: Int, before end: Int) -> Int? {
        steps += 1
        // A segment whose length is wrong may reach beyond what has arrived.
        let limit = min(end + JPEGMarkers.startByteCount - 1, byteCount)
        guard from < limit else { return nil }
        let found = unsafe buffer.withUnsafeBufferPointer { bytes in
            unsafe JPEGMarkers.start(in: UnsafeBufferPointer(rebasing: bytes[..<(limit - base)]), from: from - base)
        }
        searchedByteCount += (found.map { $0 + base } ?? limit) - from
        return found.map { $0 + base }
    }
}
