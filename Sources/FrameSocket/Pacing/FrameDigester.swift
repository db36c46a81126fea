internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// Hashes the visible content of frames, with its own key.
///
/// Frames are compared by 8 bytes: keeping and comparing the frame sent before would take longer, and 33 MB at 4K. One
/// pass over a 1080p frame takes a twentieth of the time needed to encode it. Two different frames may have the same hash
/// by chance; see `ImageHash`.
struct FrameDigester: Sendable {
    private let key = ImageHash.Key()

    /// Returns the hash of the visible bytes, size, format and orientation.
    func digest(_ image: PixelBuffer, orientation: FrameOrientation) -> UInt64 {
        var hash = ImageHash(key: key)
        hash.add(UInt64(image.width) << 32 | UInt64(image.height))
        hash.add(UInt64(image.format.hashNumber) << 8 | UInt64(orientation.rawValue))
        for plane in 0..<image.planeCount {
            for row in 0..<image.plane(plane).height {
                image.withRow(row, ofPlane: plane) { hash.add($0) }
            }
        }
        return hash.value
    }

    /// Returns the hash of a JPEG's bytes and orientation.
    func digest(_ jpeg: Span<UInt8>, orientation: FrameOrientation) -> UInt64 {
        var hash = ImageHash(key: key)
        hash.add(UInt64(jpeg.count))
        hash.add(UInt64(orientation.rawValue))
        hash.add(jpeg)
        return hash.value
    }

    /// Returns the hash of a frame's content and orientation.
    func digest(_ content: FrameContent, orientation: FrameOrientation) -> UInt64 {
        switch content {
        case .pixels(let image), .scaled(let image): digest(image, orientation: orientation)
        case .shared(let shared): digest(shared.pixels, orientation: orientation)
        case .jpeg(let jpeg, _), .resizableJPEG(let jpeg, _), .encoded(let jpeg, _):
            jpeg.withBytes { digest($0, orientation: orientation) }
        }
    }
}

extension PixelFormat {
    /// A unique number of the format.
    fileprivate var hashNumber: Int {
        Self.allCases.firstIndex(of: self) ?? Self.allCases.count
    }
}
