extension JPEGGate {
    /// The coefficients that a scan codes, and which of their bits.
    private struct Selection {
        let start: UInt8
        let end: UInt8
        let approximation: UInt8

        /// All coefficients with all bits: what a sequential scan codes.
        var isWhole: Bool { start == 0 && end == 63 && approximation == 0 }
        var hasDC: Bool { start == 0 }
        var hasAC: Bool { end > 0 }
        /// Whether an earlier scan has coded the higher bits.
        var isRefinement: Bool { approximation >> 4 > 0 }
    }

    /// Parses the header of a scan.
    mutating func takeScan(_ jpeg: Span<UInt8>, _ content: Range<Int>) throws(TurboJPEGError) {
        guard structure.process != 0 else { throw malformed("a scan without a frame header") }
        let at = content.lowerBound
        guard !content.isEmpty, 1...4 ~= jpeg[at], content.count == 4 + 2 * Int(jpeg[at]) else {
            throw malformed("an invalid scan header")
        }
        guard !structure.isProgressive || structure.scans.count < limits.maximumProgressiveScans else {
            throw TurboJPEGError(
                .tooManyScans,
                "the JPEG has more than \(limits.maximumProgressiveScans) scans, which is the limit"
            )
        }
        var selection = Selection(
            start: jpeg[content.upperBound - 3],
            end: jpeg[content.upperBound - 2],
            approximation: jpeg[content.upperBound - 1]
        )
        if !structure.isProgressive, !selection.isWhole {
            guard toleratesDamage else {
                throw malformed(
                    "a sequential scan of coefficients \(selection.start) to \(selection.end) instead of 0 to 63"
                )
            }
            // Some encoders write zeros. The library warns about this, and reads all coefficients.
            selection = Selection(start: 0, end: 63, approximation: 0)
        }
        leastScanBits = 0
        var scanned: UInt8 = 0
        var blocksInMCU = 0
        let count = Int(jpeg[at])
        for number in 0..<count {
            let (id, selectors) = (jpeg[at + 1 + 2 * number], jpeg[at + 2 + 2 * number])
            guard let place = structure.components.firstIndex(where: { $0.id == id }) else {
                throw malformed("a scan of an unknown component")
            }
            let mask = UInt8(1) << UInt8(truncatingIfNeeded: place)
            guard scanned & mask == 0, structure.isProgressive || coded & mask == 0 else {
                throw malformed("a component that is coded twice")
            }
            scanned |= mask
            let component = structure.components[place]
            blocksInMCU += component.horizontal * component.vertical
            let bits = try leastBitsPerBlock(of: component, selectors, selection)
            leastScanBits += bits * structure.blockCount(of: component, isAlone: count == 1)
        }
        guard count == 1 || blocksInMCU <= 10 else { throw malformed("more than ten blocks in an MCU") }
        coded |= scanned
        structure.scans.append(
            JPEGStructure.Scan(
                header: (at - 4)..<content.upperBound,
                data: content.upperBound..<content.upperBound,
                restartInterval: restartInterval
            )
        )
    }

    /// Checks that a component's tables are defined, and returns the minimum number of bits in one of its blocks.
    private func leastBitsPerBlock(
        of component: JPEGStructure.Component,
        _ selectors: UInt8,
        _ selection: Selection
    ) throws(TurboJPEGError) -> Int {
        guard tables.hasQuantization(component.quantizationTable) else {
            throw missing("quantization table \(component.quantizationTable)")
        }
        let (dc, ac) = (Int(selectors >> 4), Int(selectors & 15))
        let needsDC = selection.hasDC && !selection.isRefinement
        let shortestDC = shortest(tables.shortestCode(dc: dc), dc)
        let shortestAC = shortest(tables.shortestCode(ac: ac), ac)
        guard !needsDC || shortestDC != nil else { throw missing("Huffman table \(dc) for DC") }
        guard !selection.hasAC || shortestAC != nil else { throw missing("Huffman table \(ac) for AC") }
        // One code for the DC value, and at least one for the others: the end of the block. A progressive scan may end
        // many blocks with one code.
        return structure.isProgressive ? 0 : (shortestDC ?? 0) + (shortestAC ?? 0)
    }

    /// Returns the length of a table's shortest code; the library substitutes the standard's typical tables for the
    /// first two.
    private func shortest(_ code: Int?, _ id: Int) -> Int? {
        code ?? (limits.acceptsMissingHuffmanTables && id < 2 ? JPEGTables.shortestStandardCode : nil)
    }

    private func missing(_ table: String) -> TurboJPEGError {
        TurboJPEGError(.missingTable, "the JPEG uses \(table) without defining it before byte \(index)")
    }

    /// Skips the compressed data of the latest scan.
    mutating func takeScanData(_ jpeg: Span<UInt8>) throws(TurboJPEGError) {
        let start = index
        index = unsafe jpeg.withUnsafeBufferPointer { bytes in unsafe endOfScanData(bytes, from: start) }
        structure.scans[structure.scans.count - 1].data = start..<index
        guard !toleratesDamage else { return }
        // Without a marker after it, the data has no end either.
        guard index < jpeg.count else { throw truncated(jpeg) }
        guard leastScanBits / 8 <= index - start else {
            throw TurboJPEGError(
                .truncated,
                """
                the JPEG's \(index - start) bytes of compressed data cannot hold an image of \
                \(structure.width)x\(structure.height), which takes \(leastScanBits / 8) at least
                """
            )
        }
    }
}
