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
    mutating func update(from part: PixelBuffer, key: ImageHash.Key) -> Bool {
        isChanged = look(at: part, key: key)
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
    private mutating func look(at part: PixelBuffer, key: ImageHash.Key) -> Bool {
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

    private static func hash(_ part: PixelBuffer, every step: Int, key: ImageHash.Key) -> UInt64 {
        var hash = ImageHash(key: key)
        part.add(to: &hash, every: step)
        return hash.value
    }
}
