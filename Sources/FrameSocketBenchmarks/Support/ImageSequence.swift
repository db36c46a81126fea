import CBaseline
import FrameSocket
import PNGReading

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Images that are sent one after another, repeatedly.
///
/// - Note: `@unchecked Sendable` holds because nothing changes after initialization.
@safe final class ImageSequence: @unchecked Sendable {
    /// The content of the images.
    enum Content: String {
        /// A screen that does not change.
        case still
        /// A screen on which a line is typed: little changes.
        case typing
        /// A phone's screen that is scrolled, 1125x2436: most of it changes.
        case scroll
        /// A moving photo: everything changes.
        case motion

        fileprivate var paths: [String] {
            switch self {
            case .still: ["screens/desktop-typing/000.png"]
            case .typing: (0..<6).map { "screens/desktop-typing/00\($0).png" }
            case .scroll: (0..<5).map { "screens/phone-scroll/00\($0).png" }
            case .motion: ["photos/rocket-1920x1080.png"]
            }
        }
    }

    let width: Int
    let height: Int
    /// Forward and back, so that each image follows from the previous one as on a screen.
    private let images: [PixelBuffer]
    private let baselines: UnsafeMutablePointer<UnsafePointer<UInt8>?>

    /// Reads the images, and scales or tiles them to a size.
    init(_ content: Content, _ size: BufferSize? = nil, fixtures: String) throws {
        var images = try content.paths.map { try Self.image(at: "\(fixtures)/\($0)") }
        if let size {
            images = try images.map { image in
                guard size.width > image.width else {
                    return try image.scaled(toWidth: size.width, height: size.height)
                }
                return try image.repeated(width: size.width, height: size.height)
            }
        }
        if content == .motion, let photo = images.first {
            images = try (0..<6).map { step in
                try photo.repeated(width: photo.width, height: photo.height, x: 56 * step, y: 40 * step)
            }
        }
        self.images = images + images.dropFirst().dropLast().reversed()
        (width, height) = (images[0].width, images[0].height)
        unsafe baselines = .allocate(capacity: self.images.count)
        for (index, image) in self.images.enumerated() {
            // The images, and with them this memory, live as long as this object, and nobody changes them.
            unsafe (baselines + index).initialize(to: image.withUnsafePlanes { unsafe UnsafePointer($0[0].base) })
        }
    }

    deinit {
        unsafe baselines.deallocate()
    }

    var count: Int { images.count }

    /// The size of every image.
    var size: BufferSize { BufferSize(width: width, height: height) }

    /// Returns what a source would state for each image: the rows that differ from those of the image before it.
    func damages() throws -> [[PixelBuffer.Rectangle]] {
        try images.indices.map { index in
            let rows = try images[index].rows(differingFrom: images[(index + count - 1) % count])
            return rows.ranges.map { PixelBuffer.Rectangle(x: 0, y: $0.lowerBound, width: width, height: $0.count) }
        }
    }

    /// The image at a position, counted over all repetitions.
    subscript(index: Int) -> PixelBuffer { images[index % images.count] }

    /// Calls `body` with the same images as the baselines take them, to be encoded at quality 80.
    func withBaseline<Result>(_ body: (UnsafePointer<baseline_images>) -> Result) -> Result {
        let pixels = unsafe UnsafePointer(baselines)
        let bytesPerRow = Int32(images[0].plane(0).bytesPerRow)
        var baseline = unsafe baseline_images(
            pixels: pixels,
            count: Int32(images.count),
            stride: bytesPerRow,
            quality: 80
        )
        return unsafe body(&baseline)
    }

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
    fileprivate func repeated(width: Int, height: Int, x: Int = 0, y: Int = 0) throws -> PixelBuffer {
        var result = try PixelBuffer(width: width, height: height, format: format)
        let pixel = format.bytesPerPixel
        for row in 0..<height {
            try withRow((y + row) % self.height) { source in
                try result.withMutableRow(row) { target in
                    for column in 0..<width {
                        let from = (x + column) % self.width * pixel
                        for byte in 0..<pixel { target[column * pixel + byte] = source[from + byte] }
                    }
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
