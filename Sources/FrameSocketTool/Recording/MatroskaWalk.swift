/// Walks over the elements of a Matroska file, and beyond what is damaged.
///
/// Elements that contain others are entered, and their sizes are compared with what they contain. Where that is
/// impossible, the next cluster is searched for. No byte is searched twice, but for the few that a cluster begins with.
struct MatroskaWalk {
    enum Step {
        case element(MatroskaHead)
        case damage(MatroskaDamage)
        case end
    }

    /// A cluster, as far as it has been read.
    private struct Cluster {
        let start: UInt64
        let end: UInt64?
        var hasBlock = false
        /// Whether it has elements beside blocks that could have been one.
        var hasOthers = false
    }

    /// What the next element belongs to.
    private enum Section {
        case segment
        case description(end: UInt64?)
        case cluster(Cluster)

        var end: UInt64? {
            switch self {
            case .segment: nil
            case .description(let end): end
            case .cluster(let cluster): cluster.end
            }
        }
    }

    let input: InputFile
    private var section = Section.segment
    /// Where the last element begins.
    private(set) var start: UInt64 = 0
    /// Where the one before it begins.
    private var previousStart: UInt64 = 0
    /// No cluster is found before this place again.
    private var floor: UInt64 = 0
    /// Where elements of the segment begin that nobody knows, and behind which nothing known has come yet.
    private var strangers: UInt64?
    private var target = MatroskaSearch.Target.descriptions
    /// Whether the file ends within an element.
    private(set) var isCut = false

    init(_ input: InputFile) {
        self.input = input
    }

    var isInCluster: Bool {
        guard case .cluster = section else { return false }
        return true
    }

    /// The next element, whose content is next in the file.
    mutating func next() throws(Files.Failure) -> Step {
        while !isCut {
            let place = input.offset
            if section.end == place, let damage = leave(at: place) { return .damage(damage) }
            switch MatroskaHead.parse(try input.peek(MatroskaHead.maximumLength)) {
            case .incomplete:
                return try end(at: place)
            case .malformed:
                return .damage(try recover(from: strangers ?? place, .malformed))
            case .head(let head):
                if head.isTop, section.end == nil, let damage = leave(at: place) { return .damage(damage) }
                if case .segment = section, !head.isTop, !head.isGlobal {
                    if let damage = try skipStranger(head, at: place) { return .damage(damage) }
                    continue
                }
                if let reason = fault(of: head, at: place) { return .damage(try recover(from: place, reason)) }
                _ = try input.skip(UInt64(head.length))
                (previousStart, start, strangers) = (start, place, nil)
                enter(head)
                return .element(head)
            }
        }
        return .end
    }

    /// What is wrong with an element where it is.
    private func fault(of head: MatroskaHead, at place: UInt64) -> MatroskaDamage.Reason? {
        if let end = section.end {
            if head.isTop { return .misplaced }
            if place + UInt64(head.length) + (head.size ?? 0) > end { return .outside }
        }
        return head.size == nil && !head.isEntered ? .endless : nil
    }

    // MARK: Sections

    private mutating func enter(_ head: MatroskaHead) {
        let end = head.size.map { input.offset + $0 }
        if head.isTop { floor = start + 1 }
        switch head.element {
        case .segment, .header: target = .descriptions
        case .info: section = .description(end: end)
        case .tracks: (section, target) = (.description(end: end), .clusters)
        case .cluster: section = .cluster(Cluster(start: start, end: end))
        default: note(head)
        }
    }

    /// Notes what a cluster contains.
    private mutating func note(_ head: MatroskaHead) {
        guard case .cluster(var cluster) = section else { return }
        switch head.element {
        case .simpleBlock, .block, .encryptedBlock: cluster.hasBlock = true
        case .timestamp: return
        case .position where (head.size ?? .max) <= 8, .previousSize where (head.size ?? .max) <= 8: return
        default: cluster.hasOthers = true
        }
        section = .cluster(cluster)
    }

    /// Ends the section; returns damage if it was a cluster whose only frame cannot be recognized.
    private mutating func leave(at place: UInt64) -> MatroskaDamage? {
        defer { section = .segment }
        guard case .cluster(let cluster) = section, !cluster.hasBlock, cluster.hasOthers else { return nil }
        return MatroskaDamage(start: cluster.start, extent: .to(place), reason: .noFrame)
    }

    /// Ends the file, at its end or within the head of an element.
    private mutating func end(at place: UInt64) throws(Files.Failure) -> Step {
        let rest = try input.peek(MatroskaHead.maximumLength)
        let isWhole = rest.isEmpty
        if !isWhole, strangers != nil || !mayBegin(rest) {
            return .damage(try recover(from: strangers ?? place, .malformed))
        }
        isCut = !isWhole || section.end != nil
        if !isCut, let damage = leave(at: place) { return .damage(damage) }
        return .end
    }

    /// Whether bytes at the end of the file may be the first of an element where they are.
    private func mayBegin(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard case .segment = section else { return true }
        return MatroskaHead.segmentIDs.contains { zip(bytes, $0).allSatisfy { $0 == $1 } }
    }

    // MARK: Content

    /// Skips what the last element contains; returns damage if a cluster is found there.
    mutating func skip(_ head: MatroskaHead) throws(Files.Failure) -> MatroskaDamage? {
        guard let size = head.size else { return nil }
        let limit = input.offset + size
        // An attachment may be any file.
        guard head.element != .attachments else {
            if try !input.skip(size) { isCut = true }
            return nil
        }
        // What was read before may have lost some bytes, so that a cluster begins among its last ones.
        input.goBack(to: floor)
        if try input.find(target, before: limit) { return resume(from: start, .swallowing) }
        isCut = input.offset < limit
        return nil
    }

    /// Counts the last element as a block of its cluster, although it is none.
    mutating func countAsBlock() {
        guard case .cluster(var cluster) = section else { return }
        cluster.hasBlock = true
        section = .cluster(cluster)
    }

    /// The content of the last element; nil if the file ends within it.
    mutating func content(_ size: UInt64) throws(Files.Failure) -> [UInt8]? {
        guard let bytes = try input.bytes(Int(clamping: size)) else {
            isCut = true
            return nil
        }
        return bytes
    }

    /// What is wrong with the last element, a block, if it reaches into another cluster, which is next then.
    mutating func damage(inBlockOf size: UInt64) throws(Files.Failure) -> MatroskaDamage? {
        let count = Int(clamping: size)
        let bytes = try input.peek(count)
        guard let distance = MatroskaSearch.first(in: bytes), try !isConfirmed(blockOf: count) else { return nil }
        _ = try input.skip(UInt64(distance))
        return resume(from: start, .swallowing)
    }

    /// Whether a block of this many bytes ends with its cluster, and another element of the segment follows.
    private func isConfirmed(blockOf count: Int) throws(Files.Failure) -> Bool {
        guard section.end == input.offset + UInt64(count) else { return false }
        let bytes = try input.peek(count + MatroskaHead.maximumLength)
        let rest = bytes.dropFirst(count)
        guard !rest.isEmpty else { return bytes.count == count }
        guard case .head(let head) = MatroskaHead.parse(rest) else { return false }
        return head.isTop
    }

    /// Skips an element of the segment that nobody knows, unless it is damage.
    private mutating func skipStranger(_ head: MatroskaHead, at place: UInt64) throws(Files.Failure) -> MatroskaDamage?
    {
        let first = strangers ?? place
        guard let size = head.size else { return try recover(from: first, .endless) }
        let ahead = try input.peek(MatroskaSearch.maximumLength).dropFirst(head.length)
        guard !MatroskaSearch.holdsTimestamp(ahead, size: size) else { return try recover(from: first, .noCluster) }
        let limit = place + UInt64(head.length) + size
        input.goBack(to: floor)
        if try input.find(target, before: limit) { return resume(from: first, .malformed) }
        guard input.offset == limit else { return rest(from: first, .malformed) }
        strangers = first
        return nil
    }

    // MARK: Damage

    /// Goes to the next cluster, from an element that cannot be read.
    mutating func recover(
        from place: UInt64,
        _ reason: MatroskaDamage.Reason
    ) throws(Files.Failure) -> MatroskaDamage {
        // As in skip(_:).
        input.goBack(to: floor)
        guard try input.find(target, before: nil) else { return rest(from: place, reason) }
        return resume(from: place, reason)
    }

    /// Reads on from here.
    private mutating func resume(from place: UInt64, _ reason: MatroskaDamage.Reason) -> MatroskaDamage {
        // Unless it is before it, an earlier element has reached into what begins here.
        let first = [place, start, previousStart].first { $0 < input.offset } ?? floor
        (section, strangers) = (.segment, nil)
        return MatroskaDamage(start: first, extent: .to(input.offset), reason: reason)
    }

    /// Ends the file with what cannot be read.
    private mutating func rest(from place: UInt64, _ reason: MatroskaDamage.Reason) -> MatroskaDamage {
        defer { (section, strangers) = (.segment, nil) }
        guard case .segment = section else {
            return MatroskaDamage(start: place, extent: .rest(end: input.offset), reason: reason)
        }
        return MatroskaDamage(start: place, extent: .appendix(end: input.offset), reason: reason)
    }
}
