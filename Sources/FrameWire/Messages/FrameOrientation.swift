/// The orientation of an image in its buffer: the value of the field `Buffer-Orientation`.
///
/// The numbers are those of `CGImagePropertyOrientation`, but their meaning on this wire is *not* that of an EXIF
/// viewer: existing Jitsi receivers rotate ``left`` (8) by 90 degrees clockwise and ``right`` (6) by 270, while a photo
/// viewer rotates 8 by 270 and 6 by 90. ``rotation`` follows the wire.
///
/// To make the image upright, flip it horizontally if ``isMirrored``, then rotate it clockwise by ``rotation`` degrees.
public enum FrameOrientation: UInt8, Sendable, CaseIterable, Hashable {
    /// 0: The sender does not know; treated as upright.
    case unknown = 0
    /// 1: Upright.
    case up
    /// 2: Flipped horizontally.
    case upMirrored
    /// 3: Upside down.
    case down
    /// 4: Flipped vertically.
    case downMirrored
    /// 5: Transposed; rows and columns are exchanged.
    case leftMirrored
    /// 6: Upright after a rotation by 270 degrees clockwise.
    case right
    /// 7: Transposed along the other diagonal.
    case rightMirrored
    /// 8: Upright after a rotation by 90 degrees clockwise.
    case left

    /// The clockwise rotation in degrees, 0, 90, 180 or 270, that makes the image upright after any flip.
    public var rotation: Int {
        switch self {
        case .unknown, .up, .upMirrored: 0
        case .left, .rightMirrored: 90
        case .down, .downMirrored: 180
        case .right, .leftMirrored: 270
        }
    }

    /// Whether the image must be flipped horizontally before it is rotated by ``rotation``.
    public var isMirrored: Bool {
        switch self {
        case .upMirrored, .downMirrored, .leftMirrored, .rightMirrored: true
        case .unknown, .up, .down, .right, .left: false
        }
    }

    /// The clockwise rotation in degrees that existing Jitsi receivers apply.
    ///
    /// They do not support mirroring: 90, 180 and 270 for 8, 3 and 6, and 0 for all others, including mirrored ones.
    public var deployedRotation: Int { isMirrored ? 0 : rotation }

    /// Whether the upright image is as wide as the buffer is high.
    public var swapsAxes: Bool { rotation == 90 || rotation == 270 }
}
