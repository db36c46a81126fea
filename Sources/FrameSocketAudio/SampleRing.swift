/// A ring of interleaved samples of fixed size, in which the newest frames replace the oldest.
struct SampleRing {
    let channels: Int

    /// The capacity in frames: at least 1.
    let capacity: Int

    /// The number of buffered frames.
    private(set) var count = 0

    /// The index of the oldest frame.
    private var first = 0

    private var samples: [Int16]

    init(capacity: Int, channels: Int) {
        self.channels = channels
        self.capacity = max(1, capacity)
        samples = [Int16](repeating: 0, count: self.capacity * channels)
    }

    /// Adds whole frames, and returns how many frames, old or new, were dropped.
    mutating func write(_ frames: Span<Int16>) -> Int {
        let offered = frames.count / channels
        let lost = max(0, count + offered - capacity)
        let kept = min(offered, capacity)
        drop(min(lost, count))

        let start = (first + count) % capacity
        let upToEnd = min(kept, capacity - start)
        let newest = frames.extracting(last: kept * channels)
        copy(newest.extracting(first: upToEnd * channels), to: start)
        copy(newest.extracting(droppingFirst: upToEnd * channels), to: 0)
        count += kept
        return lost
    }

    /// Drops the oldest frames, at most those buffered.
    mutating func drop(_ frames: Int) {
        first = (first + frames) % capacity
        count -= frames
    }

    /// Passes the oldest frames to `body`, as many as are contiguous; the rest are at the start of the ring.
    func withOldest<Result>(_ body: (Span<Int16>) -> Result) -> Result {
        let length = min(count, capacity - first)
        let oldest = samples[(first * channels)..<((first + length) * channels)]
        return body(oldest.span)
    }

    private mutating func copy(_ source: Span<Int16>, to frame: Int) {
        unsafe source.withUnsafeBufferPointer { source in
            guard let from = source.baseAddress else { return }
            unsafe samples.withUnsafeMutableBufferPointer { target in
                guard let base = target.baseAddress else { return }
                unsafe (base + frame * channels).update(from: from, count: source.count)
            }
        }
    }
}
