/// Validates a JPEG's markers, and accepts only what can be decoded within limits.
///
/// The library gets no data that this type has not accepted. Data is rejected before memory is allocated, in a time
/// that depends on the number of bytes, not on the claimed size of the image.
struct JPEGGate {
    /// How far to validate.
    enum Extent {
        /// Up to the header of the first scan.
        case header
        /// To the end of the image.
        case image
    }

    let limits: JPEGDecoder.Limits
    private let extent: Extent
    var structure = JPEGStructure()
    var tables = JPEGTables()
    var restartInterval = 0
    /// The components that scans have coded, one bit for each.
    var coded: UInt8 = 0
    /// The minimum number of bits in the data of the latest scan.
    var leastScanBits = 0
    var index = 0
    /// Whether a segment of JFIF has said what the components mean.
    var hasJFIF = false
    /// The color transform that a segment of Adobe states, and its offset.
    var adobeTransform: (value: UInt8, offset: Int)?

    /// Returns what the markers of a JPEG state.
    ///
    /// - Throws: `notJPEG`, `noPicture`, `truncated`, `malformed`, `missingTable`, `unsupported`, `tooLarge`,
    ///   `tooManyScans` or `trailingData`.
    static func structure(
        of jpeg: Span<UInt8>,
        limits: JPEGDecoder.Limits,
        extent: Extent = .image
    ) throws(TurboJPEGError) -> JPEGStructure {
        var gate = JPEGGate(limits: limits, extent: extent)
        try gate.walk(jpeg)
        return gate.structure
    }

    private init(limits: JPEGDecoder.Limits, extent: Extent) {
        (self.limits, self.extent) = (limits, extent)
    }

    /// - Throws: `notJPEG` if the bytes do not begin as every JPEG does.
    static func checkStart(of jpeg: Span<UInt8>) throws(TurboJPEGError) {
        guard jpeg.count >= 2, jpeg[0] == 0xFF, jpeg[1] == JPEGMarker.start else {
            throw TurboJPEGError(
                .notJPEG,
                jpeg.isEmpty
                    ? "the JPEG is empty"
                    : "these \(jpeg.count) bytes are not a JPEG: they do not begin with FF D8"
            )
        }
    }

    private mutating func walk(_ jpeg: Span<UInt8>) throws(TurboJPEGError) {
        try Self.checkStart(of: jpeg)
        index = 2
        while let marker = try nextMarker(jpeg) {
            if marker == JPEGMarker.end { break }
            try take(jpeg, marker, segment(jpeg, marker))
            guard marker == JPEGMarker.scan else { continue }
            if extent == .header { return }
            try takeScanData(jpeg)
        }
        structure.end = structure.repair.missingEnd.map { $0 + 2 } ?? index
        try checkEnd(jpeg)
    }

    // MARK: Markers and segments

    /// Advances past the next marker and returns it; nil at the end of the bytes, if that is accepted.
    private mutating func nextMarker(_ jpeg: Span<UInt8>) throws(TurboJPEGError) -> UInt8? {
        guard structure.repair.missingEnd == nil else { return nil }
        let start = index
        var hasStrayBytes = false
        while index < jpeg.count {
            guard jpeg[index] == 0xFF else {
                if !hasStrayBytes { try accept(malformed("something other than a marker")) }
                hasStrayBytes = true
                index += 1
                continue
            }
            // Any number of FF bytes may precede a marker.
            while index < jpeg.count, jpeg[index] == 0xFF { index += 1 }
            guard index < jpeg.count else { break }
            let marker = jpeg[index]
            index += 1
            // A marker without a meaning or a segment, for the private use of encoders.
            if marker == JPEGMarker.temporary { continue }
            guard marker == 0 || JPEGMarker.restarts.contains(marker) else {
                // Any number of FF bytes may precede a marker.
                if hasStrayBytes { structure.repair.set(start..<(index - 1), to: 0xFF) }
                guard !structure.repair.isTooMuch else { throw malformed("too many deviations from the format") }
                return marker
            }
            if !hasStrayBytes { try accept(malformed("compressed data outside of a scan")) }
            hasStrayBytes = true
        }
        guard !structure.scans.isEmpty else { throw truncated(jpeg) }
        try acceptMissingEnd(of: jpeg, at: start)
        return nil
    }

    /// Accepts an image whose end marker is missing, if the limits allow that; whether the data before it is complete
    /// is for the library to find.
    mutating func acceptMissingEnd(of jpeg: Span<UInt8>, at end: Int) throws(TurboJPEGError) {
        guard coded.nonzeroBitCount == structure.components.count else { throw truncated(jpeg) }
        try accept(
            TurboJPEGError(.truncated, "the JPEG of \(jpeg.count) bytes ends without its end marker"),
            "lenient limits accept it if its data is complete"
        )
        structure.repair.missingEnd = end
        index = end
    }

    /// Advances past a segment and returns its content.
    private mutating func segment(_ jpeg: Span<UInt8>, _ marker: UInt8) throws(TurboJPEGError) -> Range<Int> {
        if marker == JPEGMarker.start { throw malformed("a second start marker") }
        if let feature = JPEGMarker.unsupportedFeature(marker) {
            let error = unsupported("it has \(feature), marker \(hexadecimal(marker)) before byte \(index)")
            guard JPEGMarker.isHarmless(marker) else { throw error }
            try accept(error)
        }
        guard marker >= 0xC0 else { throw malformed("the undefined marker \(hexadecimal(marker))") }
        guard index + 2 <= jpeg.count else { throw truncated(jpeg) }
        var length = Int(jpeg[index]) << 8 | Int(jpeg[index + 1])
        if length < 2 {
            guard JPEGMarker.isSkipped(marker) else { throw malformed("a segment of \(length) bytes") }
            try accept(malformed("a segment of \(length) bytes"))
            length = 2
        }
        guard index + length <= jpeg.count else { throw truncated(jpeg) }
        defer { index += length }
        return (index + 2)..<(index + length)
    }

    private mutating func take(
        _ jpeg: Span<UInt8>,
        _ marker: UInt8,
        _ content: Range<Int>
    ) throws(TurboJPEGError) {
        switch marker {
        case JPEGMarker.sequentialFrames, JPEGMarker.progressiveFrame:
            try takeFrame(jpeg, marker, content)
        case JPEGMarker.quantizationTables:
            try check(tables.takeQuantization(jpeg, content), "an invalid quantization table")
        case JPEGMarker.huffmanTables:
            try check(tables.takeHuffman(jpeg, content), "an invalid Huffman table")
        case JPEGMarker.restartInterval:
            guard content.count == 2 else { throw malformed("a restart interval of \(content.count) bytes") }
            restartInterval = Int(jpeg[content.lowerBound]) << 8 | Int(jpeg[content.lowerBound + 1])
        case JPEGMarker.scan:
            try takeScan(jpeg, content)
        case JPEGMarker.jfif:
            try takeJFIF(jpeg, content)
        case JPEGMarker.adobe:
            if content.count >= 12, begins(jpeg, content, "Adobe") {
                adobeTransform = (jpeg[content.lowerBound + 11], content.lowerBound + 11)
            }
        default:
            break
        }
    }

    private func check(_ verdict: JPEGTables.Verdict, _ what: String) throws(TurboJPEGError) {
        switch verdict {
        case .valid: break
        case .deviating: try accept(malformed(what))
        case .invalid: throw malformed(what)
        }
    }

    private mutating func takeJFIF(_ jpeg: Span<UInt8>, _ content: Range<Int>) throws(TurboJPEGError) {
        guard content.count >= 14, begins(jpeg, content, "JFIF\0") else { return }
        hasJFIF = true
        let version = content.lowerBound + 5
        guard jpeg[version] != 1 else { return }
        try accept(malformed("the unknown version \(jpeg[version]) of JFIF"))
        structure.repair.set(version..<(version + 1), to: 1)
    }

    private func begins(_ jpeg: Span<UInt8>, _ content: Range<Int>, _ name: StaticString) -> Bool {
        name.withUTF8Buffer { name in
            name.indices.allSatisfy { unsafe jpeg[content.lowerBound + $0] == name[$0] }
        }
    }

    // MARK: The frame header

    private mutating func takeFrame(
        _ jpeg: Span<UInt8>,
        _ marker: UInt8,
        _ content: Range<Int>
    ) throws(TurboJPEGError) {
        guard structure.process == 0 else { throw malformed("a second frame header") }
        if marker == JPEGMarker.progressiveFrame, limits.maximumProgressiveScans <= 0 {
            throw unsupported("it is progressive; convert it to a baseline JPEG: jpegtran -outfile OUTPUT INPUT")
        }
        let at = content.lowerBound
        guard content.count >= 6 else { throw malformed("a frame header of \(content.count) bytes") }
        let (precision, count) = (jpeg[at], Int(jpeg[at + 5]))
        guard content.count == 6 + 3 * count else { throw malformed("a frame header of invalid length") }
        guard precision == 8 else { throw unsupported("its samples have \(precision) bits; only 8 are supported") }
        // A header with four components can be inspected: it belongs to an image for print.
        guard count == 1 || count == 3 || (count == 4 && extent == .header) else {
            throw unsupported(
                "it has \(count) components; only 1 (gray) and 3 (color) are supported, convert CMYK first"
            )
        }
        structure.process = marker
        structure.frameHeader = (at - 4)..<content.upperBound
        structure.height = Int(jpeg[at + 1]) << 8 | Int(jpeg[at + 2])
        structure.width = Int(jpeg[at + 3]) << 8 | Int(jpeg[at + 4])
        guard structure.width > 0, structure.height > 0 else {
            throw malformed("an image of \(structure.width)x\(structure.height)")
        }
        try limits.check(width: structure.width, height: structure.height)
        for number in 0..<count {
            let at = at + 6 + 3 * number
            let component = JPEGStructure.Component(
                id: jpeg[at],
                horizontal: Int(jpeg[at + 1] >> 4),
                vertical: Int(jpeg[at + 1] & 15),
                quantizationTable: Int(jpeg[at + 2])
            )
            guard 1...4 ~= component.horizontal, 1...4 ~= component.vertical else {
                throw malformed("the sampling factors \(component.horizontal)x\(component.vertical)")
            }
            if structure.components.contains(where: { $0.id == component.id }) {
                try accept(malformed("two components with the same identifier"))
            }
            structure.components.append(component)
        }
    }
}

// MARK: - The end

extension JPEGGate {
    /// Checks that there is an image, that it is complete, and that only padding follows.
    private func checkEnd(_ jpeg: Span<UInt8>) throws(TurboJPEGError) {
        guard !structure.scans.isEmpty else {
            throw TurboJPEGError(
                .noPicture,
                "the JPEG of \(jpeg.count) bytes contains no image, only tables or an end"
            )
        }
        guard coded.nonzeroBitCount == structure.components.count else {
            throw malformed("an end before all components were coded")
        }
        guard !limits.acceptsTrailingData, structure.repair.missingEnd == nil else { return }
        let padding = jpeg.count - structure.end
        guard padding <= limits.maximumPaddingBytes else {
            throw TurboJPEGError(
                .trailingData,
                "\(padding) bytes follow the JPEG's end; at most \(limits.maximumPaddingBytes) zeros may",
                byteOffset: structure.end
            )
        }
        guard jpeg.extracting(structure.end..<jpeg.count).countWithoutPadding > 0 else { return }
        throw TurboJPEGError(
            .trailingData,
            "only zeros may follow the JPEG's end at byte \(structure.end)",
            byteOffset: (structure.end..<jpeg.count).first { jpeg[$0] != 0 }
        )
    }

    // MARK: Deviations

    /// Throws an error about something that the library reads all the same, unless the limits accept it.
    func accept(
        _ deviation: @autoclosure () -> TurboJPEGError,
        _ advice: String = "lenient limits accept it"
    ) throws(TurboJPEGError) {
        guard limits.acceptsDeviations else { throw deviation().asDeviation(advice) }
    }

    // MARK: Errors

    func malformed(_ what: String) -> TurboJPEGError {
        TurboJPEGError(.malformed, "the JPEG is not well formed: \(what) before byte \(index)")
    }

    func unsupported(_ why: String) -> TurboJPEGError {
        TurboJPEGError(.unsupported, "the JPEG is not supported: \(why)")
    }

    func truncated(_ jpeg: Span<UInt8>) -> TurboJPEGError {
        TurboJPEGError(.truncated, "the JPEG of \(jpeg.count) bytes ends before its image is complete")
    }
}

/// Returns a byte as written in the documents of the format: `C4`.
private func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
}
