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
            try accept(
                malformed("a sequential scan of coefficients \(selection.start) to \(selection.end) instead of 0 to 63")
            )
            // Some encoders write zeros. The library warns about this, and reads all coefficients.
            selection = Selection(start: 0, end: 63, approximation: 0)
            structure.repair.set((content.upperBound - 3)..<(content.upperBound - 2), to: 0)
            structure.repair.set((content.upperBound - 2)..<(content.upperBound - 1), to: 63)
            structure.repair.set((content.upperBound - 1)..<content.upperBound, to: 0)
        }
        if structure.scans.isEmpty { try checkTransform() }
        leastScanBits = 0
        var scanned: UInt8 = 0
        var blocksInMCU = 0
        let count = Int(jpeg[at])
        for number in 0..<count {
            let (id, selectors) = (jpeg[at + 1 + 2 * number], jpeg[at + 2 + 2 * number])
            let place = try place(of: id, number, of: count)
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

    /// Returns the index of the component with the identifier that is at `number` in a scan of `count` components, as
    /// the library finds it.
    private func place(of id: UInt8, _ number: Int, of count: Int) throws(TurboJPEGError) -> Int {
        let known = structure.components.indices.filter { structure.components[$0].id == id }
        guard !known.isEmpty else { throw malformed("a scan of an unknown component") }
        // The library would take the first of them for each. In a scan of all, they follow in the order of the header.
        guard known.count == 1 || count == structure.components.count else {
            throw malformed("a scan that names one of several components with the same identifier")
        }
        guard let place = known.first(where: { $0 >= number }) else {
            throw malformed("a scan whose components are not in the order of the frame header")
        }
        return place
    }

    /// Checks the color transform that a segment of Adobe states, if the library uses it.
    private mutating func checkTransform() throws(TurboJPEGError) {
        guard structure.components.count == 3, !hasJFIF, let at = adobeTransform else { return }
        guard at.value > 1 else { return }
        try accept(malformed("the unknown color transform \(at.value) in a segment of Adobe"))
        // The library assumes luma and chroma.
        structure.repair.set(at.offset..<(at.offset + 1), to: 1)
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
        let hasStandard = limits.acceptsMissingHuffmanTables
        let shortestDC = tables.shortestCode(dc: dc, orStandard: hasStandard)
        let shortestAC = tables.shortestCode(ac: ac, orStandard: hasStandard)
        guard !needsDC || shortestDC != nil else { throw missing("Huffman table \(dc) for DC") }
        guard !selection.hasAC || shortestAC != nil else { throw missing("Huffman table \(ac) for AC") }
        // One code for the DC value, and at least one for the others: the end of the block. A progressive scan may end
        // many blocks with one code.
        return structure.isProgressive ? 0 : (shortestDC ?? 0) + (shortestAC ?? 0)
    }

    private func missing(_ table: String) -> TurboJPEGError {
        TurboJPEGError(.missingTable, "the JPEG uses \(table) without defining it before byte \(index)")
    }

    /// Returns the end of compressed data that nothing but padding follows.
    ///
    /// The last byte of such data is not zero, except after FF: encoders fill it with ones.
    private func endOfData(_ jpeg: Span<UInt8>) -> Int {
        var count = jpeg.countWithoutPadding
        guard count > 0, jpeg[count - 1] == 0xFF else { return count }
        if count < jpeg.count { return count + 1 }
        // The first half of a marker.
        while count > 0, jpeg[count - 1] == 0xFF { count -= 1 }
        return count
    }

    /// Skips the compressed data of the latest scan.
    mutating func takeScanData(_ jpeg: Span<UInt8>) throws(TurboJPEGError) {
        let start = index
        index = unsafe jpeg.withUnsafeBufferPointer { bytes in unsafe endOfScanData(bytes, from: start) }
        if index == jpeg.count {
            // Without a marker after it, the data has no end either.
            guard leastScanBits / 8 <= index - start else { throw truncated(jpeg) }
            try acceptMissingEnd(of: jpeg, at: max(start, endOfData(jpeg)))
        }
        structure.scans[structure.scans.count - 1].data = start..<index
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
