import FrameTransport
import FrameWire
import TurboJPEG

@testable import FrameSocket

/// Detects by its hash whether a frame differs from the one that was kept, as an uploader does.
struct ChangeDetector {
    private let digester = FrameDigester()
    private var examined: UInt64?
    private var kept: UInt64?

    /// Creates a detector that treats the next frame as changed.
    init() {}

    /// Returns whether an image differs, in its visible bytes, size, format or orientation, from the one that was kept.
    mutating func isChanged(_ image: PixelBuffer, orientation: FrameOrientation = .up) -> Bool {
        examined = digester.digest(.pixels(image), orientation: orientation)
        return examined != kept
    }

    /// Returns whether a JPEG differs, in its bytes or orientation, from the one that was kept.
    mutating func isChanged(_ jpeg: Span<UInt8>, orientation: FrameOrientation = .up) -> Bool {
        let content = FrameContent.jpeg(FrameBytes(copying: jpeg), BufferSize(width: 8, height: 8))
        examined = digester.digest(content, orientation: orientation)
        return examined != kept
    }

    /// Compares later frames with the one that was examined last.
    mutating func keep() {
        kept = examined
    }
}
