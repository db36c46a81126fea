/// Where the segments behind start markers lead, one after another.
struct JPEGHeaders: Sendable {
    private struct Walk {
        var place: Int
        var hasFrameHeader = false
        /// The markers that were passed; see ``targets``.
        var trail: [Int] = []
    }

    /// The coded data to which markers lead, or -1, so that no marker is followed again.
    ///
    /// The key is the marker's place, shifted, with a bit for whether a frame header came before: the rest of the way depends
    /// on nothing else.
    private var targets: [Int: Int] = [:]
    private var mostTargets = 256
    /// The walk that waits for more of the stream.
    private var walk: Walk?

    /// Follows the segments from a start to the marker of coded data, or to nothing (-1); nil if that takes more of the stream.
    mutating func target(of start: Int, in stream: inout JPEGStreamBuffer, isFinished: Bool) -> Int? {
        var walk = self.walk.take() ?? Walk(place: start + 2)
        let count = walk.trail.count
        defer { stream.searchedByteCount += walk.trail.count - count + 1 }
        let limit = start + JPEGStreamReader.maximumImageByteCount
        guard let target = follow(&walk, upTo: limit, in: stream) ?? (isFinished ? -1 : nil) else {
            self.walk = walk
            return nil
        }
        for key in walk.trail { targets[key] = target }
        return target
    }

    /// Forgets what no image can lead to any more.
    mutating func forget(before place: Int) {
        // Seldom, so that it costs nothing.
        guard targets.count > mostTargets else { return }
        targets = targets.filter { $0.key >> 1 >= place }
        mostTargets = max(256, 2 * targets.count)
    }

    private func follow(_ walk: inout Walk, upTo limit: Int, in stream: JPEGStreamBuffer) -> Int? {
        while walk.place <= limit {
            let place = walk.place
            guard let first = stream[place] else { return nil }
            guard first == 0xFF else { return -1 }
            guard let code = stream[place + 1] else { return nil }
            // Of many fill bytes, some are enough.
            if code != 0xFF || place.isMultiple(of: 64) {
                let key = place << 1 | (walk.hasFrameHeader ? 1 : 0)
                if let target = targets[key] { return target }
                if walk.trail.last != key { walk.trail.append(key) }
            }
            if code == 0xFF || JPEGStreamBuffer.isAlone(code) {
                walk.place += code == 0xFF ? 1 : 2
                continue
            }
            guard JPEGStreamBuffer.hasLength(code) else { return -1 }
            guard let length = stream.number(at: place + 2) else { return nil }
            let isScan = code == 0xDA
            let isFrameHeader = (0xC0...0xCF).contains(code) && ![0xC4, 0xC8, 0xCC].contains(code)
            if isScan || isFrameHeader {
                guard let count = stream[place + (isScan ? 4 : 9)] else { return nil }
                let expected = isScan ? 6 + 2 * Int(count) : 8 + 3 * Int(count)
                guard count > 0, length == expected, isScan == walk.hasFrameHeader else { return -1 }
                // There is no image without a width; the height may follow.
                if isFrameHeader, stream.number(at: place + 7) == 0 { return -1 }
                if isScan { return place }
                walk.hasFrameHeader = true
            }
            guard length >= 2 else { return -1 }
            walk.place += 2 + length
        }
        return -1
    }
}
