/// How a picture lies in its buffer: the value of the field `Buffer-Orientation`.
///
/// The numbers are those of `CGImagePropertyOrientation`. Their meaning on this wire is *not* that of an EXIF viewer:
/// deployed receivers turn ``left`` (8) by 90 degrees clockwise and ``right`` (6) by 270, where a viewer of
/// photographs turns 8 by 270 and 6 by 90. ``rotation`` follows the wire.
///
/// An upright picture is made by flipping it horizontally where ``isMirrored`` says so, then turning it clockwise by
/// ``rotation`` degrees.
public enum FrameOrientation: UInt8, Sendable, CaseIterable, Hashable {
    /// 0: the sender does not know; treated as upright.
    case unknown = 0
    /// 1: upright.
    case up
    /// 2: flipped horizontally.
    case upMirrored
    /// 3: upside down.
    case down
    /// 4: flipped vertically.
    case downMirrored
    /// 5: transposed, rows and columns exchanged.
    case leftMirrored
    /// 6: upright after 270 degrees clockwise.
    case right
    /// 7: transposed about the other diagonal.
    case rightMirrored
    /// 8: upright after 90 degrees clockwise.
    case left

    /// The degrees clockwise, 0, 90, 180 or 270, that make the picture upright once it is flipped where ``isMirrored``.
    public var rotation: Int {
        switch self {
        case .unknown, .up, .upMirrored: 0
        case .left, .rightMirrored: 90
        case .down, .downMirrored: 180
        case .right, .leftMirrored: 270
        }
    }

    /// Whether the picture is flipped horizontally before it is turned by ``rotation``.
    public var isMirrored: Bool {
        switch self {
        case .upMirrored, .downMirrored, .leftMirrored, .rightMirrored: true
        case .unknown, .up, .down, .right, .left: false
        }
    }

    /// The degrees clockwise by which deployed receivers turn the picture.
    ///
    /// They know no mirroring: 90, 180 and 270 for 8, 3 and 6, and 0 for everything else, mirrored values included.
    public var deployedRotation: Int { isMirrored ? 0 : rotation }

    /// Whether the upright picture is as wide as the buffer is high.
    public var swapsAxes: Bool { rotation == 90 || rotation == 270 }
}
