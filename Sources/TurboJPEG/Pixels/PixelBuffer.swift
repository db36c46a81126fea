/// An image in memory: width, height, format, and one to three planes of bytes.
///
/// A pixel buffer is a value. Copies share their memory until one of them is changed, which copies the visible bytes
/// first. The memory and each plane begin at a multiple of 64 bytes. By default, so does each row, so rows can be
/// longer than their pixels: `plane(_:)` returns the distance. Adopted memory keeps its layout.
///
/// Thread safety: a value: copies may be used on any threads, and a mutating call needs its own copy for itself.
public struct PixelBuffer: Sendable {
    /// The arrangement of the bytes.
    public let format: PixelFormat
    /// The width in pixels.
    public private(set) var width: Int
    /// The height in pixels.
    public private(set) var height: Int
    private(set) var storage: PixelStorage

    /// Creates an image in new memory; the content is undefined unless `zeroFilled` is true.
    ///
    /// - Parameters:
    ///   - width: The width, 1 to 65,500 pixels.
    ///   - height: The height, 1 to 65,500 pixels.
    ///   - format: The arrangement of the bytes.
    ///   - bytesPerRow: The distance between rows of the first plane; nil rounds the bytes of a row up to a multiple of
    ///     64. The chroma planes of `i420` use half of it, rounded up, and that of `nv12` the next even number.
    ///   - zeroFilled: Whether all bytes are set to 0, including padding.
    /// - Throws: `invalidSize`, `invalidStride`, `allocationFailed`.
    public init(
        width: Int,
        height: Int,
        format: PixelFormat,
        bytesPerRow: Int? = nil,
        zeroFilled: Bool = false
    ) throws(TurboJPEGError) {
        let layout = try PixelLayout(width: width, height: height, format: format, bytesPerRow: bytesPerRow)
        let storage = try PixelStorage(layout: layout, shelf: PixelStorage.noShelf)
        if zeroFilled {
            unsafe storage.bases[0].update(repeating: 0, count: layout.byteCount)
        }
        self.init(width: width, height: height, format: format, storage: storage)
    }

    init(width: Int, height: Int, format: PixelFormat, storage: PixelStorage) {
        self.format = format
        self.width = width
        self.height = height
        self.storage = storage
    }

    /// Creates an image over memory of the caller, without a copy.
    ///
    /// For memory that something else fills: buffers of a camera or a decoder, or memory shared with a window system. It
    /// is never written through the image; changing the image copies it first.
    ///
    /// The memory must stay as it is until `release` is called: once, on an arbitrary thread, when the last copy of this
    /// value is destroyed. If an object owns the memory, `{ withExtendedLifetime(owner) {} }` is enough. It is not called if
    /// the initializer throws.
    ///
    /// - Parameters:
    ///   - planes: The first sample and the bytes per row of each of the format's planes.
    ///   - width: The width, 1 to 65,500 pixels.
    ///   - height: The height, 1 to 65,500 pixels.
    ///   - format: The arrangement of the bytes.
    ///   - release: A closure that takes the memory back.
    /// - Throws: `invalidSize`, `invalidStride`, `overlappingPlanes`; `byteCountMismatch` if the number of planes is
    ///   not the format's.
    @unsafe public init(
        adopting planes: [(base: UnsafePointer<UInt8>, bytesPerRow: Int)],
        width: Int,
        height: Int,
        format: PixelFormat,
        release: @escaping @Sendable () -> Void
    ) throws(TurboJPEGError) {
        guard unsafe planes.count == format.planeCount else {
            throw TurboJPEGError(
                .byteCountMismatch,
                "\(format.rawValue) has \(format.planeCount) planes; \(unsafe planes.count) were given"
            )
        }
        let first = unsafe UnsafeMutablePointer(mutating: planes[0].base)
        var bases = unsafe PerPlane(first, first, first)
        var strides = PerPlane(0, 0, 0)
        for index in 0..<format.planeCount {
            unsafe bases[index] = unsafe UnsafeMutablePointer(mutating: planes[index].base)
            strides[index] = unsafe planes[index].bytesPerRow
        }
        try PixelLayout.check(width: width, height: height, format: format, strides: strides)
        let places = unsafe planes.map { unsafe UInt(bitPattern: $0.base) }
        try PixelLayout.checkApart(places, width: width, height: height, format: format, strides: strides)
        let storage = unsafe PixelStorage(adopting: bases, strides: strides, release: release)
        self.init(width: width, height: height, format: format, storage: storage)
    }

    /// The number of planes, which is that of the format.
    public var planeCount: Int { format.planeCount }

    /// Returns the shape of a plane.
    ///
    /// - Precondition: `index` is in `0..<planeCount`.
    public func plane(_ index: Int) -> Plane {
        precondition(0..<planeCount ~= index, "\(format.rawValue) has \(planeCount) planes.")
        return unsafe UnsafePlanes(self)[index].shape
    }

    /// Returns the top left part of the image, in the same memory.
    ///
    /// O(1): nothing is copied. The distance between rows stays the same.
    ///
    /// - Throws: `invalidSize` if the part is empty or larger than the image.
    public func cropped(toWidth newWidth: Int, height newHeight: Int) throws(TurboJPEGError) -> PixelBuffer {
        guard 1...width ~= newWidth, 1...height ~= newHeight else {
            throw TurboJPEGError(
                .invalidSize,
                "an image of \(width)x\(height) cannot be cropped to \(newWidth)x\(newHeight)"
            )
        }
        var part = self
        part.width = newWidth
        part.height = newHeight
        return part
    }

    /// Returns whether both images are in the same memory.
    package func sharesMemory(with other: borrowing PixelBuffer) -> Bool { storage === other.storage }

    /// Whether nothing else refers to the memory, which can then be written without a copy.
    package var isAlone: Bool {
        mutating get { isKnownUniquelyReferenced(&storage) && storage.isWritable }
    }

    /// Makes this value the only owner of its memory, with the same distance between rows.
    ///
    /// If new memory is needed, the visible samples are copied only if `preservingContents` is true.
    mutating func makeUnique(preservingContents: Bool = true) throws(TurboJPEGError) {
        if isKnownUniquelyReferenced(&storage), storage.isWritable { return }
        let layout = try PixelLayout(width: width, height: height, format: format, strides: storage.strides)
        let source = unsafe UnsafePlanes(self)
        storage = try PixelStorage(layout: layout, shelf: storage.shelf)
        if preservingContents {
            unsafe UnsafePlanes(self).copySamples(from: source)
        }
    }
}

extension PixelBuffer {
    /// The shape of one plane of a `PixelBuffer`.
    ///
    /// Row `y` begins at byte `y * bytesPerRow` of the plane, and its samples take `width * bytesPerSample` bytes.
    public struct Plane: Sendable, Hashable {
        /// The number of samples in a row: pixels in packed formats, chroma samples or pairs of them in chroma planes.
        public let width: Int
        /// The number of rows.
        public let height: Int
        /// The distance from one row to the next, in bytes.
        public let bytesPerRow: Int
        /// The number of bytes of one sample.
        package let bytesPerSample: Int

        /// The number of bytes of a row that hold samples; the rest, up to `bytesPerRow`, is padding.
        public var visibleBytesPerRow: Int { width * bytesPerSample }

        /// The number of bytes from the first sample to the last; the padding after the last row is not counted.
        public var byteCount: Int { (height - 1) * bytesPerRow + visibleBytesPerRow }
    }

    /// A rectangular part of an image, in pixels from its top left corner.
    ///
    /// Any values are allowed: a function that takes one says what it does with a part outside the image.
    public struct Rectangle: Sendable, Hashable {
        /// The number of pixels to its left.
        public var x: Int
        /// The number of pixels above it.
        public var y: Int
        /// The width in pixels.
        public var width: Int
        /// The height in pixels.
        public var height: Int

        /// Creates a rectangle without validation.
        public init(x: Int, y: Int, width: Int, height: Int) {
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }
    }
}
