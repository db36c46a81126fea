/// The strips of the latest picture that a `StripEncoder` has seen.
struct StripSession: Sendable {
    /// What strips have to share to be put together.
    private struct Kind: Sendable, Hashable {
        let width: Int
        let height: Int
        let format: PixelFormat
        let quality: Int
        let subsampling: ChromaSubsampling
        let dct: DCTMethod
    }

    private var kind: Kind?
    private var layout: StripLayout?
    private var strips: [EncodedStrip] = []
    /// All that stands before the compressed data.
    private var header: [UInt8] = []
    /// What stood before the data of every strip, when that was compressed.
    private var stripHeader: StripHeader?
    private var pace = StripPace()

    /// The memory that strips are compressed into before they are kept.
    private let shelf = BlockShelf(maximumIdle: Cores.count)

    /// The bytes of the JPEG: header, strips, a marker of two bytes behind each.
    var byteCount: Int {
        strips.reduce(header.count) { $0 + $1.bytes.count + 2 }
    }

    /// Sees to it that there is a strip for each part of a picture; those of another kind of picture are given up.
    mutating func prepare(
        for image: PixelBuffer,
        _ encoder: JPEGEncoder,
        _ height: StripHeight,
        threads: Int
    ) throws(TurboJPEGError) {
        let wanted = Kind(
            width: image.width,
            height: image.height,
            format: image.format,
            quality: encoder.quality,
            subsampling: encoder.codedSubsampling(of: image.format),
            dct: encoder.dct
        )
        if kind != wanted {
            self = StripSession()
            kind = wanted
        }
        let mcuRows =
            switch height {
            case .automatic: pace.mcuRows(threads: threads)
            case .mcuRows(let rows): rows
            }
        let layout = StripLayout(
            width: wanted.width,
            height: wanted.height,
            subsampling: wanted.subsampling,
            mcuRows: mcuRows
        )
        guard self.layout != layout else { return }
        self.layout = layout
        header = []
        strips = (0..<layout.count).map { EncodedStrip(rows: layout.rows(of: $0)) }
    }

    /// Compresses the strips whose pixels differ from those that were compressed before.
    ///
    /// - Returns: The changes; nil if the strips cannot be joined to one JPEG.
    mutating func update(
        _ image: PixelBuffer,
        _ encoder: JPEGEncoder,
        key: PictureHash.Key,
        threads: Int
    ) throws(TurboJPEGError) -> StripChanges? {
        guard let layout else { return nil }
        let height = min(layout.stripHeight, image.height)
        let capacity = try encoder.maximumByteCount(width: image.width, height: height)
        let shelf = shelf
        StripWork.forEach(&strips, threads: threads) { strip in
            strip.update(from: image, with: encoder, key: key, capacity: capacity, shelf: shelf)
        }
        var rows: [Range<Int>] = []
        var changed = 0
        for strip in strips where strip.isChanged {
            if let failure = strip.failure { throw failure }
            rows.appendJoining(strip.rows)
            changed += 1
        }
        guard hasEqualHeaders() else { return nil }
        if header.isEmpty, let stripHeader { header = stripHeader.bytes(of: layout) }
        pace.note(changed: changed, of: strips.count)
        return StripChanges(rows: rows, stripCount: strips.count, codedCount: changed)
    }

    /// Whether what was compressed now has the header of all strips: their data follow the tables that stand there.
    ///
    /// They may differ if the process's environment tells the library to optimize its tables (`TJ_OPTIMIZE`).
    private mutating func hasEqualHeaders() -> Bool {
        for index in strips.indices where strips[index].isChanged {
            guard let found = strips[index].header.take() else { return false }
            if let stripHeader, found != stripHeader { return false }
            stripHeader = found
        }
        return true
    }

    /// Hands out the bytes of the JPEG, from the first to the last.
    func write(_ body: ([UInt8]) -> Void) {
        body(header)
        for index in strips.indices {
            body(strips[index].bytes)
            let restart = JPEGMarker.restarts.lowerBound + UInt8(truncatingIfNeeded: index % 8)
            body([0xFF, index == strips.count - 1 ? JPEGMarker.end : restart])
        }
    }
}
