import FrameSocket
import PNGReading

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Images of 1920x1080 that are sent one after another, repeatedly.
///
/// - Note: `@unchecked Sendable` holds because nothing changes after initialization.
@safe final class ImageSequence: @unchecked Sendable {
    /// The content of the images.
    enum Content: String, CaseIterable {
        /// A screen that does not change.
        case still
        /// A screen on which a line is typed: little changes.
        case typing
        /// A moving photo: everything changes.
        case motion

        fileprivate var paths: [String] {
            switch self {
            case .still: ["screens/desktop-typing/000.png"]
            case .typing: (0..<6).map { "screens/desktop-typing/00\($0).png" }
            case .motion: ["photos/rocket-1920x1080.png"]
            }
        }
    }

    let (width, height): (Int, Int)
    /// Forward and back, so that each image follows from the previous one as on a screen.
    private let images: [PixelBuffer]
    private let pixels: UnsafeMutablePointer<UnsafePointer<UInt8>?>

    /// Reads the images, and tiles them to a multiple of their size.
    init(_ content: Content, times scale: Int = 1, fixtures: String) throws {
        var images = try content.paths.map { try Self.image(at: "\(fixtures)/\($0)") }
        let (width, height) = (images[0].width * scale, images[0].height * scale)
        if content == .motion {
            images = try (0..<6).map { try images[0].repeated(width: width, height: height, x: 56 * $0, y: 40 * $0) }
        } else if scale > 1 {
            images = try images.map { try $0.repeated(width: width, height: height, x: 0, y: 0) }
        }
        (self.width, self.height) = (width, height)
        self.images = images + images.dropFirst().dropLast().reversed()
        unsafe pixels = .allocate(capacity: self.images.count)
        for (index, image) in self.images.enumerated() {
            // The baselines know no padding between rows.
            guard image.plane(0).bytesPerRow == width * 4 else { throw BenchmarkFailure() }
            // The images, and with them this memory, live as long as this object, and nobody changes them.
            unsafe (pixels + index).initialize(to: image.withUnsafePlanes { unsafe UnsafePointer($0[0].base) })
        }
    }

    deinit {
        unsafe pixels.deallocate()
    }

    var count: Int { images.count }

    /// The image at a position, counted over all repetitions.
    subscript(index: Int) -> PixelBuffer { images[index % images.count] }

    /// The pixels of each image, for plain C.
    var baseline: UnsafePointer<UnsafePointer<UInt8>?> { unsafe UnsafePointer(pixels) }

    private static func image(at path: String) throws -> PixelBuffer {
        guard let file = unsafe fopen(path, "rb") else { throw MissingFixture(path: path) }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16 << 20)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        let contents = bytes[..<count]
        return try PixelBuffer(png: contents.span)
    }
}

extension PixelBuffer {
    /// A part of a plane that is tiled with this image, from a position in it on.
    fileprivate func repeated(width: Int, height: Int, x: Int, y: Int) throws -> PixelBuffer {
        var result = try PixelBuffer(width: width, height: height, format: format)
        for row in 0..<height {
            try withRow((y + row) % self.height) { source in
                try result.withMutableRow(row) { target in
                    for byte in 0..<width * 4 { target[byte] = source[(x * 4 + byte) % (self.width * 4)] }
                }
            }
        }
        return result
    }
}

/// An image file that is missing.
struct MissingFixture: Error, CustomStringConvertible {
    let path: String

    var description: String { "\(path) does not exist; run this from the package's root, or use --fixtures" }
}
