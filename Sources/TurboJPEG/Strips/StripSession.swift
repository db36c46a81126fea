/// The strips of the latest image that a `StripEncoder` has compressed.
struct StripSession: Sendable {
    /// The room for a header in the memory of a strip; the library's own header takes 623 bytes.
    private static let headerBytes = 1_024

    /// From this number of pixels on, an image is worth more than one thread: about a million instructions, judging by the
    /// 120,000 of an image of 64x64.
    private static let pixelsForThreads = 32_768

    private var options: StripOptions?
    private var layout: StripLayout?
    private var strips: [EncodedStrip] = []
    /// Whether the strips are those of an image.
    private var hasImage = false
    /// Everything before the compressed data.
    private var header: [UInt8] = []

    /// What strips are compressed with, for these options and this layout.
    private var shelf = StripCodecShelf(maximumIdle: Cores.count)

    /// The size of the JPEG in bytes: header, strips, and a marker of two bytes after each strip.
    var byteCount: Int {
        strips.reduce(header.count) { $0 + $1.bytes.count + 2 }
    }

    /// Prepares a strip for each part of an image; strips with other options are discarded.
    private mutating func prepare(
        for wanted: StripOptions,
        mcuRows: Int
    ) throws(TurboJPEGError) -> StripLayout {
        if options != wanted {
            self = StripSession()
            options = wanted
        }
        let layout = StripLayout(
            width: wanted.width,
            height: wanted.height,
            subsampling: wanted.subsampling,
            mcuRows: mcuRows
        )
        guard self.layout != layout else { return layout }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = try unsafe bytes.withUnsafeMutableBufferPointer { bytes throws(TurboJPEGError) in
            try unsafe wanted.write(nil, layout, to: bytes)
        }
        header = Array(bytes.prefix(count))
        shelf = StripCodecShelf(maximumIdle: Cores.count)
        strips = (0..<layout.count).map { EncodedStrip(rows: layout.rows(of: $0)) }
        hasImage = false
        self.layout = layout
        return layout
    }

    /// Compresses the strips whose pixels have changed since they were last compressed.
    mutating func update(
        _ image: PixelBuffer,
        _ encoder: JPEGEncoder,
        mcuRows: Int,
        damage: RowSet?,
        key: ImageHash.Key,
        threads: Int
    ) throws(TurboJPEGError) -> StripChanges {
        let options = try StripOptions(for: image, encoder)
        let layout = try prepare(for: options, mcuRows: mcuRows)
        let stripHeight = min(layout.stripHeight, image.height)
        let capacity = try encoder.maximumByteCount(width: image.width, height: stripHeight) + Self.headerBytes
        let shelf = shelf
        let damaged = keepUndamaged(hasImage ? damage : nil)
        hasImage = true
        // Of a small image, waking another thread would be a large part of the cost.
        let threads = image.width * image.height < Self.pixelsForThreads ? 1 : threads
        StripWork.share(&strips, damaged, threads: threads) { strips in
            let compressor = StripCompressor(options, layout, capacity: capacity, shelf: shelf)
            strips.compress(image, key: key, with: compressor)
        }
        var rows: [Range<Int>] = []
        var changed = 0
        for strip in strips where strip.isChanged {
            if let failure = strip.failure { throw failure }
            rows.appendJoining(strip.rows)
            changed += 1
        }
        let hashedCount = damaged?.count ?? strips.count
        return StripChanges(rows: rows, stripCount: strips.count, codedCount: changed, hashedCount: hashedCount)
    }

    /// Keeps the strips outside the damage, and returns the indices of the others; nil if any row may have changed.
    private mutating func keepUndamaged(_ rows: RowSet?) -> [Int]? {
        guard let rows else { return nil }
        var damaged: [Int] = []
        for index in strips.indices {
            if rows.overlaps(strips[index].rows) { damaged.append(index) } else { strips[index].keep() }
        }
        return damaged
    }

    /// Provides the bytes of the JPEG, from first to last.
    func write(_ body: ([UInt8]) -> Void) {
        body(header)
        for index in strips.indices {
            body(strips[index].bytes)
            let restart = JPEGMarker.restarts.lowerBound + UInt8(truncatingIfNeeded: index % 8)
            body([0xFF, index == strips.count - 1 ? JPEGMarker.end : restart])
        }
    }
}

extension SharedItems<EncodedStrip> {
    /// Compresses the strips that this thread takes and that have changed.
    fileprivate func compress(
        _ image: PixelBuffer,
        key: ImageHash.Key,
        with compressor: consuming StripCompressor
    ) {
        // The strip whose last bytes are still to come.
        var latest: Int?
        func takeTail(_ bytes: UnsafeBufferPointer<UInt8>) {
            guard let latest else { return }
            withItem(latest) { unsafe $0.append(bytes) }
        }
        while let index = next() {
            let rows = withItem(index) { $0.rows }
            do throws(TurboJPEGError) {
                let part = unsafe UnsafePlanes(image).rows(rows)
                guard withItem(index, { unsafe $0.update(from: part, key: key) }) else { continue }
                unsafe try compressor.compress(part, takeTail: takeTail) { bytes in
                    withItem(index) { unsafe $0.append(bytes) }
                }
                latest = index
            } catch {
                // If one strip fails, the others need not be compressed.
                return withItem(index) { $0.fail(error) }
            }
        }
        do throws(TurboJPEGError) {
            unsafe try compressor.finish(takeTail)
        } catch {
            guard let latest else { return }
            withItem(latest) { $0.fail(error) }
        }
    }
}

/// A compressed strip, and the state that tells whether its pixels have changed.
struct EncodedStrip: Sendable {
    /// The number of consecutive changes after which the next one is expected.
    private static let patience = 3
    /// If a change is expected, one row in this many is checked first.
    private static let probeStep = 32

    /// The strip's rows of pixels.
    let rows: Range<Int>
    /// The compressed data only.
    private(set) var bytes: [UInt8] = []
    /// Whether the latest image had different pixels.
    private(set) var isChanged = true
    /// The error, if the strip could not be compressed.
    private(set) var failure: TurboJPEGError?

    private var hash: UInt64?
    private var probe: UInt64?
    private var changesInARow = 0

    init(rows: Range<Int>) {
        self.rows = rows
    }

    /// Checks the rows of an image, and returns whether they differ from those that were compressed before.
    @unsafe mutating func update(from part: UnsafePlanes, key: ImageHash.Key) -> Bool {
        isChanged = unsafe look(at: part, key: key)
        if isChanged { bytes.removeAll(keepingCapacity: true) }
        return isChanged
    }

    /// Keeps the compressed data: the latest image is known to have the same pixels.
    mutating func keep() {
        (isChanged, changesInARow) = (false, 0)
    }

    /// Appends compressed data.
    mutating func append(_ data: UnsafeBufferPointer<UInt8>) {
        // The last few bytes arrive separately, and should not need another allocation.
        if bytes.isEmpty { bytes.reserveCapacity(data.count + 32) }
        unsafe bytes.append(contentsOf: data)
    }

    /// Records why the rows could not be compressed.
    mutating func fail(_ error: TurboJPEGError) {
        isChanged = true
        failure = error
    }

    /// Returns whether the pixels differ from the previous ones.
    ///
    /// If they have kept changing, a few rows are checked first. If these differ, the rest is not checked, and counts
    /// as unknown the next time.
    @unsafe private mutating func look(at part: UnsafePlanes, key: ImageHash.Key) -> Bool {
        if changesInARow >= Self.patience {
            let known = probe
            probe = unsafe Self.hash(part, every: Self.probeStep, key: key)
            if probe != known {
                hash = nil
                return true
            }
        }
        let known = hash
        hash = unsafe Self.hash(part, every: 1, key: key)
        guard hash != known else {
            changesInARow = 0
            return false
        }
        changesInARow += 1
        return true
    }

    @unsafe private static func hash(_ part: UnsafePlanes, every step: Int, key: ImageHash.Key) -> UInt64 {
        var hash = ImageHash(key: key)
        unsafe part.add(to: &hash, every: step)
        return hash.value
    }
}
