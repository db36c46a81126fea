internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// Hashes the visible content of frames, with its own key.
///
/// Frames are compared by 8 bytes: keeping and comparing the frame sent before would take longer, and 33 MB at 4K. One
/// pass over a 1080p frame takes a twentieth of the time needed to encode it. Two different frames may have the same
/// hash by chance; see `ImageHash`.
struct FrameDigester: Sendable {
    private let key = ImageHash.Key()

    /// Returns the hash of all that determines what the receiver gets: the visible bytes and format of pixels, or the
    /// bytes of a JPEG; size, orientation, and whether the configuration may change the size.
    func digest(_ content: FrameContent, orientation: FrameOrientation) -> UInt64 {
        var hash = ImageHash(key: key)
        hash.add(kind(of: content) << 8 | UInt64(orientation.rawValue))
        // A JPEG's size is what the program states, whatever that is.
        hash.add(UInt64(truncatingIfNeeded: content.size.width))
        hash.add(UInt64(truncatingIfNeeded: content.size.height))
        switch content {
        case .pixels(let image), .scaled(let image, _): add(image, to: &hash)
        case .jpeg(let jpeg, _), .resizableJPEG(let jpeg, _):
            hash.add(UInt64(jpeg.count))
            jpeg.withSpan { hash.add($0) }
        }
        return hash.value
    }

    /// Returns a number of the kind of content: kinds are sent differently although the bytes are equal.
    private func kind(of content: FrameContent) -> UInt64 {
        switch content {
        case .pixels: 0
        case .scaled: 1
        case .jpeg: 2
        case .resizableJPEG: 3
        }
    }

    private func add(_ image: PixelBuffer, to hash: inout ImageHash) {
        hash.add(UInt64(image.format.hashNumber))
        for plane in 0..<image.planeCount {
            for row in 0..<image.plane(plane).height {
                image.withRow(row, ofPlane: plane) { hash.add($0) }
            }
        }
    }
}

extension PixelFormat {
    /// A unique number of the format.
    fileprivate var hashNumber: Int {
        Self.allCases.firstIndex(of: self) ?? Self.allCases.count
    }
}
