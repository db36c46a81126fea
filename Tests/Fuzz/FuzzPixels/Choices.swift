import FrameSocket
import TestSupport
import TurboJPEG

/// What the bytes of an input decide, one after another; zeros behind their end.
struct Choices {
    private var bytes: ArraySlice<UInt8>
    /// The most pixels of an image.
    private var longestArea = 1 << 16

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = unsafe Array(bytes)[...]
    }

    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    mutating func number() -> Int { Int(byte()) << 8 | Int(byte()) }

    /// Sides of interest, and any other; now and then one that no image has.
    private mutating func side() -> Int {
        let sides = [
            1, 2, 15, 17, 255, 4_096, 16_383, 16_384, 32_766, 32_767, 32_768, 32_769, 65_499, 65_500, 65_501, 0,
        ]
        let kind = Int(byte())
        if kind < sides.count { return sides[kind] }
        return kind & 1 == 0 ? number() % 300 + 1 : number() % 65_500 + 1
    }

    mutating func side(upTo longest: Int) -> Int { min(max(side(), 1), longest) }

    mutating func size() -> (width: Int, height: Int) {
        let (width, height) = (side(), side())
        return width * height <= longestArea ? (width, height) : (width, max(1, longestArea / width))
    }

    var format: PixelFormat {
        mutating get { PixelFormat.allCases[Int(byte()) % PixelFormat.allCases.count] }
    }

    var orientation: FrameOrientation {
        mutating get { FrameOrientation.allCases[Int(byte()) % FrameOrientation.allCases.count] }
    }

    var scale: JPEGDecoder.ScalingFactor {
        mutating get {
            let factors = JPEGDecoder.ScalingFactor.allSupported.filter { $0.numerator <= $0.denominator }
            return factors[Int(byte()) % factors.count]
        }
    }

    var color: PixelBuffer.Color {
        mutating get {
            let choice = byte()
            return PixelBuffer.Color(
                range: choice & 1 == 0 ? .full : .limited,
                matrix: choice & 2 == 0 ? .bt601 : .bt709
            )
        }
    }

    var encoder: JPEGEncoder {
        mutating get {
            JPEGEncoder(
                quality: Int(byte()) % 100 + 1,
                subsampling: ChromaSubsampling.allCases[Int(byte()) % ChromaSubsampling.allCases.count]
            )
        }
    }

    /// A plan for an image, as senders and receivers can ask for it.
    mutating func plan(for image: PixelBuffer) -> OutputPlan {
        let kind = byte()
        let box = (width: side(), height: side())
        if kind % 8 == 7 {
            let modes = FrameDecoder.Viewport.Mode.allCases
            let height = min(box.height, longestArea / max(1, box.width))
            return FrameDecoder.Viewport(width: box.width, height: height, mode: modes[Int(kind >> 3) % modes.count])
                .plan(for: image)
        }
        let rotation = SampleUploader.OutputScale.Rotation.allCases[
            Int(kind >> 4) % SampleUploader.OutputScale.Rotation.allCases.count
        ]
        let scale: SampleUploader.OutputScale =
            switch kind % 7 {
            case 0: .half
            case 1: .fraction(numerator: box.width % 9, denominator: box.height % 9)
            case 2: .width(box.width)
            case 3: .fit(width: 640, height: 360)
            case 4: .fit(width: box.width, height: box.height, rotation: rotation)
            // The canvas is as large as the box.
            case 5:
                .letterbox(
                    width: box.width,
                    height: min(box.height, longestArea / max(1, box.width)),
                    rotation: rotation
                )
            default: .fill(width: box.width, height: box.height, rotation: rotation)
            }
        let form = byte()
        return scale.plan(
            forWidth: image.width,
            height: image.height,
            orientation: orientation,
            appliesOrientation: form & 128 != 0,
            subsampling: ChromaSubsampling.allCases[Int(form & 127) % ChromaSubsampling.allCases.count]
        )
    }

    /// An image of up to 4 megapixels over guarded memory.
    mutating func image() throws -> PixelBuffer {
        let format = format
        // Most are small, so that many fit into a second.
        longestArea = byte() & 15 == 7 ? 4 << 20 : 1 << 16
        let (width, height) = size()
        let padding = (0..<3).map { _ in Int(byte() % 70) }
        guard width > 0, height > 0, width <= 65_500, height <= 65_500 else {
            return try PixelBuffer(width: width, height: height, format: format)
        }
        var state = UInt64(byte()) &* 0x9E37_79B9_7F4A_7C15 | 1
        let isFlat = byte() & 3 == 0
        return try unsafe GuardedImage.make(width: width, height: height, format: format, padding: padding) {
            row,
            y,
            _ in
            guard !isFlat, y % 7 < 3 else { return unsafe row.update(repeating: UInt8(truncatingIfNeeded: y)) }
            for index in row.indices {
                if index & 7 == 0 { state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 }
                unsafe row[index] = UInt8(truncatingIfNeeded: state >> (UInt64(index & 7) * 8))
            }
        }
    }
}
