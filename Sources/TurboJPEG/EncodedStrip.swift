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

    private var hash: UInt64?
    private var probe: UInt64?
    private var changesInARow = 0

    init(rows: Range<Int>) {
        self.rows = rows
    }

    /// Looks at the rows of a picture, and tells whether they are others than those that were compressed before.
    mutating func update(from part: PixelBuffer, key: PictureHash.Key) -> Bool {
        isChanged = look(at: part, key: key)
        if isChanged { bytes.removeAll(keepingCapacity: true) }
        return isChanged
    }

    /// Adds compressed data.
    mutating func append(_ data: UnsafeBufferPointer<UInt8>) {
        // The last few bytes come apart from the others, and need no memory of their own.
        if bytes.isEmpty { bytes.reserveCapacity(data.count + 32) }
        unsafe bytes.append(contentsOf: data)
    }

    /// Notes why the rows could not be compressed.
    mutating func fail(_ error: TurboJPEGError) {
        isChanged = true
        failure = error
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
}
