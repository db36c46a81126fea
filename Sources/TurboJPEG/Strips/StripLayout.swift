/// The division of an image into strips: whole rows of MCUs, with all strips except the last of the same height.
struct StripLayout: Sendable, Hashable {
    /// The height of the image in pixels.
    let height: Int
    /// The height of a strip in pixels.
    let stripHeight: Int

    /// The number of strips.
    var count: Int { (height + stripHeight - 1) / stripHeight }

    /// Creates a layout with at most `mcuRows` rows of MCUs in a strip; fewer if its MCU count exceeds 16 bits.
    init(width: Int, height: Int, subsampling: ChromaSubsampling, mcuRows: Int) {
        let columns = (width + subsampling.mcuWidth - 1) / subsampling.mcuWidth
        let rows = (height + subsampling.mcuHeight - 1) / subsampling.mcuHeight
        let wanted = max(1, min(mcuRows, rows, Int(UInt16.max) / columns))
        self.height = height
        stripHeight = wanted * subsampling.mcuHeight
    }

    /// Creates the layout of a JPEG with a restart interval; nil if its intervals do not end with rows of MCUs.
    init?(_ structure: JPEGStructure, interval: Int) {
        let (mcuWidth, mcuHeight) = (8 * structure.maximumHorizontal, 8 * structure.maximumVertical)
        // A single component has MCUs of one block, whatever its sampling factors are.
        guard structure.components.count > 1 || (mcuWidth == 8 && mcuHeight == 8) else { return nil }
        let columns = (structure.width + mcuWidth - 1) / mcuWidth
        guard interval > 0, interval.isMultiple(of: columns) else { return nil }
        height = structure.height
        stripHeight = interval / columns * mcuHeight
    }

    /// Returns the rows of pixels of consecutive strips.
    func rows(of strips: Range<Int>) -> Range<Int> {
        (strips.lowerBound * stripHeight)..<min(height, strips.upperBound * stripHeight)
    }

    func rows(of strip: Int) -> Range<Int> { rows(of: strip..<(strip + 1)) }
}
