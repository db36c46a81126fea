/// A strip as it was compressed, and what tells whether its pixels are still the same.
struct EncodedStrip: Sendable {
    /// After so many changes in a row the next one is expected.
    private static let patience = 3
    /// Of how many rows one is looked at where a change is expected.
    private static let probeStep = 32

    /// The rows of pixels.
    let rows: Range<Int>
    /// The compressed data alone.
    private(set) var bytes: [UInt8] = []
    /// Whether the latest picture had other pixels.
    private(set) var isChanged = true
    /// Why it could not be compressed.
    private(set) var failure: TurboJPEGError?
    /// What stood before the data, until it was compared with that of the others; nil also if the data cannot be joined to any.
    var header: StripHeader?

    private var hash: UInt64?
    private var probe: UInt64?
    private var changesInARow = 0

    init(rows: Range<Int>) {
        self.rows = rows
    }

    /// Compresses the rows of a picture if they are not those that were compressed before.
    mutating func update(
        from image: PixelBuffer,
        with encoder: JPEGEncoder,
        key: PictureHash.Key,
        capacity: Int,
        shelf: BlockShelf
    ) {
        do throws(TurboJPEGError) {
            let part = try image.rows(rows)
            isChanged = look(at: part, key: key)
            guard isChanged else { return }
            try compress(part, with: encoder, capacity: capacity, shelf: shelf)
        } catch {
            isChanged = true
            failure = error
        }
    }

    /// Whether pixels differ from those that were seen before.
    ///
    /// Where they have kept changing a few rows are looked at first: if these differ, the rest need not be looked at, and
    /// counts as unknown the next time.
    private mutating func look(at part: PixelBuffer, key: PictureHash.Key) -> Bool {
        if changesInARow >= Self.patience {
            let known = probe
            probe = Self.hash(part, every: Self.probeStep, key: key)
            if probe != known {
                hash = nil
                return true
            }
        }
        let known = hash
        hash = Self.hash(part, every: 1, key: key)
        guard hash != known else {
            changesInARow = 0
            return false
        }
        changesInARow += 1
        return true
    }

    private static func hash(_ part: PixelBuffer, every step: Int, key: PictureHash.Key) -> UInt64 {
        var hash = PictureHash(key: key)
        part.add(to: &hash, every: step)
        return hash.value
    }

    private mutating func compress(
        _ part: PixelBuffer,
        with encoder: JPEGEncoder,
        capacity: Int,
        shelf: BlockShelf
    ) throws(TurboJPEGError) {
        guard let block = unsafe shelf.take(byteCount: capacity) else {
            throw TurboJPEGError(.allocationFailed, "There is no memory for a JPEG of up to \(capacity) bytes.")
        }
        defer { unsafe shelf.giveBack(block) }
        let start = unsafe block.base.assumingMemoryBound(to: UInt8.self)
        let count = try unsafe encoder.encode(part, to: start, capacity: capacity)
        let jpeg = unsafe UnsafeBufferPointer(start: start, count: count)
        header = unsafe StripHeader(of: jpeg)
        guard let header else { return }
        // The end's marker does not belong to the data.
        bytes.removeAll(keepingCapacity: true)
        unsafe bytes.append(contentsOf: jpeg[header.byteCount..<(count - 2)])
    }
}
