import FrameSocket

/// An Exif segment with only the orientation, which a recording puts at the beginning of a JPEG.
///
/// Players then show the image upright, and the orientation may change from one frame to the next. All but two of its
/// 36 bytes are constant, so that a replay recognizes it, removes it, and sends the JPEG as it was.
///
/// What the JPEG's own Exif segments say is ignored on this wire, but not by players, some of which believe the first
/// segment and some the last. Therefore their name is changed as well, in its first letter, so that players skip them; a
/// byte that Exif does not use says so, and a replay changes them back.
///
/// For 6 and 8, Exif turns the other way than receivers of this protocol do (docs/decisions/0012): the segment says
/// what a player has to do.
enum OrientationSegment {
    /// Up to the orientation's number, whose high byte is the last of these.
    private static let start: [UInt8] = [
        // APP1, of 34 bytes, with its name.
        0xFF, 0xE1, 0x00, 0x22, 0x45, 0x78, 0x69, 0x66, 0x00, 0x00,
        // The header of a TIFF, big-endian, followed directly by its directory.
        0x4D, 0x4D, 0x00, 0x2A, 0x00, 0x00, 0x00, 0x08,
        // One entry: orientation, one 16-bit number.
        0x00, 0x01, 0x01, 0x12, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01, 0x00,
    ]

    /// The rest of the number's field, whose last byte is 1 if names were changed, and no further directory.
    private static func end(_ hasChangedNames: Bool) -> [UInt8] { [0, hasChangedNames ? 1 : 0, 0, 0, 0, 0] }

    /// The size of the segment in bytes.
    static let count = start.count + 1 + 6

    /// The bytes with which a recorded JPEG begins, and how many of the JPEG's own they replace: none if the image is
    /// upright, or its orientation unknown, and the JPEG has no Exif segment.
    static func beginning(
        for orientation: FrameOrientation,
        of jpeg: Span<UInt8>
    ) -> (bytes: [UInt8], replaced: Int) {
        let isUpright = orientation == .unknown || orientation == .up
        let hasExif = JPEGExif.segment(of: jpeg) != nil
        guard jpeg.count > 2, hasExif || !isUpright else { return ([], 0) }
        let number = isUpright ? FrameOrientation.up.rawValue : exchanged(orientation.rawValue)
        var own: [UInt8] = []
        if hasExif {
            var changed = unsafe jpeg.withUnsafeBytes { unsafe Array($0) }
            let end = changeNames(in: &changed, by: 1)
            own = Array(changed[2..<end])
        }
        return ([0xFF, 0xD8] + start + [number] + end(hasExif) + own, 2 + own.count)
    }

    /// Adds to the first letter in the name of every segment that is named like Exif's but for that letter, modulo 256, so
    /// that it can be undone whatever the names are; returns where the last of these segments ends.
    private static func changeNames(in jpeg: inout [UInt8], by step: UInt8) -> Int {
        var position = 2
        while true {
            let bytes = jpeg[...]
            guard let segment = JPEGExif.segment(of: bytes.span, from: position, withAnyFirstLetter: true) else {
                return position
            }
            jpeg[segment.lowerBound + 4] &+= step
            position = segment.upperBound
        }
    }

    /// The orientation that a recording has put into a JPEG, and the JPEG as it was.
    static func removed(from jpeg: [UInt8]) -> (orientation: FrameOrientation, jpeg: [UInt8]) {
        let segment = Array(jpeg.dropFirst(2).prefix(count))
        guard jpeg.count > 2 + count, case let hasChangedNames = segment[start.count + 2] == 1,
            segment.starts(with: start), segment.dropFirst(start.count + 1).elementsEqual(end(hasChangedNames)),
            let orientation = FrameOrientation(rawValue: exchanged(segment[start.count])), orientation != .unknown
        else { return (.up, jpeg) }
        var rest = Array(jpeg[..<2] + jpeg[(2 + count)...])
        if hasChangedNames { _ = changeNames(in: &rest, by: .max) }
        return (orientation, rest)
    }

    /// Converts between the protocol's number and Exif's.
    private static func exchanged(_ number: UInt8) -> UInt8 {
        switch number {
        case 6: 8
        case 8: 6
        default: number
        }
    }
}
