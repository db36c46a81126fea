import FrameSocket

/// An Exif segment with only the orientation, which a recording puts at the beginning of a JPEG.
///
/// Players then show the image upright, and the orientation may change from one frame to the next. All but one of its
/// 36 bytes are constant, so that a replay recognizes it, removes it, and sends the JPEG as it was.
///
/// For 6 and 8, Exif turns the other way than receivers of this protocol do (docs/decisions/0006): the segment says
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

    /// The rest of the number's field, and no further directory.
    private static let end: [UInt8] = [0, 0, 0, 0, 0, 0]

    /// The size of the segment in bytes.
    static let count = start.count + 1 + end.count

    /// The segment for a JPEG; empty if the image is upright, or its orientation unknown.
    ///
    /// A JPEG that already begins with such a segment, as one taken from a recording does, gets one in any case: a
    /// replay removes the first.
    static func bytes(for orientation: FrameOrientation, of jpeg: Span<UInt8>) -> [UInt8] {
        switch orientation {
        case .unknown, .up: orientationNumber(in: jpeg) == nil ? [] : segment(FrameOrientation.up.rawValue)
        default: segment(exchanged(orientation.rawValue))
        }
    }

    private static func segment(_ number: UInt8) -> [UInt8] { start + [number] + end }

    /// The number in the segment that a JPEG begins with; nil if there is none.
    private static func orientationNumber(in jpeg: Span<UInt8>) -> UInt8? {
        guard jpeg.count > 2 + count else { return nil }
        for (index, byte) in start.enumerated() where jpeg[2 + index] != byte { return nil }
        for (index, byte) in end.enumerated() where jpeg[2 + start.count + 1 + index] != byte { return nil }
        return jpeg[2 + start.count]
    }

    /// The orientation that a recording has put into a JPEG, and the JPEG without it.
    static func removed(from jpeg: [UInt8]) -> (orientation: FrameOrientation, jpeg: [UInt8]) {
        let bytes = jpeg[...]
        guard let number = orientationNumber(in: bytes.span),
            let orientation = FrameOrientation(rawValue: exchanged(number)), orientation != .unknown
        else { return (.up, jpeg) }
        return (orientation, Array(jpeg[..<2] + jpeg[(2 + count)...]))
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
