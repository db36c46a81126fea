/// Finds where a Matroska file can be read on behind damage.
enum MatroskaSearch {
    /// Most bytes that it takes to know that something begins: its head, a checksum, and the head of the timestamp.
    static let maximumLength = 2 * MatroskaHead.maximumLength + 6

    /// What is searched for.
    enum Target {
        /// Clusters, and the index behind the last one.
        case clusters
        /// These, and what describes the frames.
        case descriptions
    }

    /// Whether something that is searched for begins with these bytes.
    static func begins(_ bytes: ArraySlice<UInt8>, _ target: Target) -> Bool {
        guard case .head(let head) = MatroskaHead.parse(bytes) else { return false }
        let content = bytes.dropFirst(head.length)
        switch head.element {
        case .cluster:
            return holdsTimestamp(content, size: head.size)
        case .cues:
            guard case .head(let child) = MatroskaHead.parse(content), head.size != nil else { return false }
            return child.element == .cuePoint || child.isGlobal
        case .tracks, .info:
            guard case .descriptions = target, case .head(let child) = MatroskaHead.parse(content) else { return false }
            if child.isGlobal { return true }
            guard head.element == .info else { return child.element == .trackEntry }
            switch child.element {
            case .timestampScale, .duration, .muxingApplication, .writingApplication: return true
            default: return false
            }
        default:
            return false
        }
    }

    /// Whether the content of an element begins as that of a cluster: with a timestamp, perhaps behind a checksum.
    static func holdsTimestamp(_ content: ArraySlice<UInt8>, size: UInt64?) -> Bool {
        var content = content
        var left = size ?? .max
        while case .head(let child) = MatroskaHead.parse(content), let size = child.size {
            let whole = UInt64(child.length) + size
            guard size <= 8, whole <= left else { return false }
            if child.element == .timestamp { return true }
            guard child.element == .checksum else { return false }
            content = content.dropFirst(Int(whole))
            left -= whole
        }
        return false
    }

    /// The number of bytes before a cluster or the index, if its beginning is complete here.
    static func first(in bytes: ArraySlice<UInt8>) -> Int? {
        var rest = bytes
        while let distance = candidate(in: rest) {
            rest = rest.dropFirst(distance)
            if begins(rest.prefix(maximumLength), .clusters) { return rest.startIndex - bytes.startIndex }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// The number of bytes before the first with which an ID that is searched for may begin.
    fileprivate static func candidate(in bytes: ArraySlice<UInt8>) -> Int? {
        // Of arrays, debug builds would check every index.
        unsafe bytes.withUnsafeBufferPointer { bytes in
            for index in bytes.indices {
                switch unsafe bytes[index] {
                case 0x1F, 0x1C, 0x16, 0x15: return index
                default: continue
                }
            }
            return nil
        }
    }
}

extension InputFile {
    /// Skips to the next place before `limit` where a Matroska file can be read on.
    ///
    /// - Returns: false if there is none; then everything up to the limit, or the file's end, has been skipped.
    func find(_ target: MatroskaSearch.Target, before limit: UInt64?) throws(Files.Failure) -> Bool {
        while limit.map({ offset < $0 }) ?? true {
            let left = limit.map { Int(clamping: $0 - offset) } ?? .max
            let bytes = try atHand().prefix(left)
            guard !bytes.isEmpty else { return false }
            guard let distance = MatroskaSearch.candidate(in: bytes) else {
                _ = try skip(UInt64(bytes.count))
                continue
            }
            _ = try skip(UInt64(distance))
            if MatroskaSearch.begins(try peek(MatroskaSearch.maximumLength), target) { return true }
            _ = try skip(1)
        }
        return false
    }
}
