public import FrameWire
public import TurboJPEG

/// Tells whether a picture differs from the one that was sent before.
///
///     var detector = ChangeDetector()
///     if detector.isChanged(picture) { detector.keep(); … }
///
/// It keeps 8 bytes of the picture sent before, a hash with a key of its own, and not the picture: that would be as fast
/// but for its memory, 33 MB at 4K. One pass over a 1080p picture takes a twentieth of what encoding it does.
public struct ChangeDetector: Sendable {
    private let key = PictureHash.Key()
    private var examined: UInt64?
    private var kept: UInt64?

    /// A detector that takes the next picture for changed.
    public init() {}

    /// Whether a picture differs, in its visible bytes, size, format or orientation, from the one that was kept.
    public mutating func isChanged(_ picture: PixelBuffer, orientation: FrameOrientation = .up) -> Bool {
        var hash = PictureHash(key: key)
        hash.add(UInt64(picture.width) << 32 | UInt64(picture.height))
        hash.add(UInt64(picture.format.hashNumber) << 8 | UInt64(orientation.rawValue))
        for plane in 0..<picture.planeCount {
            for row in 0..<picture.plane(plane).height {
                picture.withRow(row, ofPlane: plane) { hash.add($0) }
            }
        }
        return isChanged(hash)
    }

    /// Whether a JPEG differs, in its bytes or orientation, from the one that was kept.
    public mutating func isChanged(_ jpeg: Span<UInt8>, orientation: FrameOrientation = .up) -> Bool {
        var hash = PictureHash(key: key)
        hash.add(UInt64(jpeg.count))
        hash.add(UInt64(orientation.rawValue))
        hash.add(jpeg)
        return isChanged(hash)
    }

    /// Makes the picture that was looked at last the one with which the next are compared.
    public mutating func keep() {
        kept = examined
    }

    /// Takes the next picture for changed.
    public mutating func forget() {
        kept = nil
    }

    private mutating func isChanged(_ hash: PictureHash) -> Bool {
        examined = hash.value
        return examined != kept
    }
}

extension PixelFormat {
    /// A number that no other format has.
    fileprivate var hashNumber: Int {
        Self.allCases.firstIndex(of: self) ?? Self.allCases.count
    }
}
