/// Where a picture is cut into strips: whole rows of MCUs, all strips of the same height but the last one.
struct StripLayout: Sendable, Hashable {
    /// The height of the picture in pixels.
    let height: Int
    /// The height of a strip in pixels.
    let stripHeight: Int
    /// The MCUs of a strip, which is what the JPEG states as its restart interval.
    let interval: Int

    /// How many strips there are.
    var count: Int { (height + stripHeight - 1) / stripHeight }

    /// A layout with at most so many rows of MCUs in a strip: fewer where 16 bits do not hold the number of its MCUs.
    init(width: Int, height: Int, subsampling: ChromaSubsampling, mcuRows: Int) {
        let columns = (width + subsampling.mcuWidth - 1) / subsampling.mcuWidth
        let rows = (height + subsampling.mcuHeight - 1) / subsampling.mcuHeight
        let wanted = max(1, min(mcuRows, rows, Int(UInt16.max) / columns))
        self.height = height
        stripHeight = wanted * subsampling.mcuHeight
        interval = wanted * columns
    }

    /// The layout of a JPEG with a restart interval; nil where its intervals do not end with rows of MCUs.
    init?(_ structure: JPEGStructure, interval: Int) {
        let (mcuWidth, mcuHeight) = (8 * structure.maximumHorizontal, 8 * structure.maximumVertical)
        // A component that is alone has MCUs of one block, whatever it says.
        guard structure.components.count > 1 || (mcuWidth == 8 && mcuHeight == 8) else { return nil }
        let columns = (structure.width + mcuWidth - 1) / mcuWidth
        guard interval > 0, interval.isMultiple(of: columns) else { return nil }
        height = structure.height
        stripHeight = interval / columns * mcuHeight
        self.interval = interval
    }

    /// The rows of pixels of one strip, or of several that follow one another.
    func rows(of strips: Range<Int>) -> Range<Int> {
        (strips.lowerBound * stripHeight)..<min(height, strips.upperBound * stripHeight)
    }

    func rows(of strip: Int) -> Range<Int> { rows(of: strip..<(strip + 1)) }
}
