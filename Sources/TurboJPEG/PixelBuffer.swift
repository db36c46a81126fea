/// A picture in memory: width, height, format, and one to three planes of bytes.
///
/// It is a value. Copies share their memory until one of them is changed, which copies the visible bytes first. The
/// memory begins at a multiple of 64 bytes, and so does each plane; by default each row as well, so rows can be longer than
/// their pixels: ask `plane(_:)` for the distance. Adopted memory (`package` initialiser) keeps its own shape.
public struct PixelBuffer: Sendable {
    /// The arrangement of the bytes.
    public let format: PixelFormat
    /// The width in pixels.
    public private(set) var width: Int
    /// The height in pixels.
    public private(set) var height: Int
    private(set) var storage: PixelStorage

    /// A picture of new memory, whose content is undefined unless `zeroFilled`.
    ///
    /// - Parameters:
    ///   - width: 1 to 65,500 pixels.
    ///   - height: 1 to 65,500 pixels.
    ///   - format: The arrangement of the bytes.
    ///   - bytesPerRow: The distance between rows of the first plane; nil is a row's bytes rounded up to 64. The chroma
    ///     planes of `i420` take half of it, rounded up, and that of `nv12` the next even number.
    ///   - zeroFilled: Whether all bytes are set to 0, padding included.
    /// - Throws: `invalidSize`, `invalidStride`, `allocationFailed`.
    public init(
        width: Int,
        height: Int,
        format: PixelFormat,
        bytesPerRow: Int? = nil,
        zeroFilled: Bool = false
    ) throws(TurboJPEGError) {
        let layout = try PixelLayout(width: width, height: height, format: format, bytesPerRow: bytesPerRow)
        let storage = try PixelStorage(layout: layout, shelf: nil)
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

    /// A picture over memory of somebody else, without a copy.
    ///
    /// The memory is never written: changing the picture copies it first. `release` is called once, when the last copy of
    /// this value goes, on whatever thread that is. Where the initialiser throws it is not called.
    ///
    /// - Parameters:
    ///   - planes: The first sample and the bytes per row of each of the format's planes.
    ///   - width: 1 to 65,500 pixels.
    ///   - height: 1 to 65,500 pixels.
    ///   - format: The arrangement of the bytes.
    ///   - release: Gives the memory back.
    /// - Throws: `invalidSize`, `invalidStride`, `overlappingPlanes`; `byteCountMismatch` if there are fewer planes than the
    ///   format has, or more.
    @unsafe package init(
        adopting planes: [(base: UnsafePointer<UInt8>, bytesPerRow: Int)],
        width: Int,
        height: Int,
        format: PixelFormat,
        release: @escaping @Sendable () -> Void
    ) throws(TurboJPEGError) {
        guard unsafe planes.count == format.planeCount else {
            throw TurboJPEGError(
                .byteCountMismatch,
                "\(format.name) has \(format.planeCount) planes, and \(unsafe planes.count) were given."
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

    /// The number of planes, the same as the format's.
    public var planeCount: Int { format.planeCount }

    /// The shape of a plane.
    ///
    /// - Precondition: `index` is in `0..<planeCount`.
    public func plane(_ index: Int) -> PixelPlane {
        precondition(0..<planeCount ~= index, "\(format.name) has \(planeCount) planes.")
        return unsafe UnsafePlanes(self)[index].shape
    }

    /// The top left part of the picture, in the same memory.
    ///
    /// O(1): nothing is copied. Rows keep their distance.
    ///
    /// - Throws: `invalidSize` where the part is empty or larger than the picture.
    public func cropped(toWidth newWidth: Int, height newHeight: Int) throws(TurboJPEGError) -> PixelBuffer {
        guard 1...width ~= newWidth, 1...height ~= newHeight else {
            throw TurboJPEGError(
                .invalidSize,
                "A picture of \(width)x\(height) cannot be cropped to \(newWidth)x\(newHeight)."
            )
        }
        var part = self
        part.width = newWidth
        part.height = newHeight
        return part
    }

    /// Whether both lie in the same memory.
    package func sharesMemory(with other: borrowing PixelBuffer) -> Bool { storage === other.storage }

    /// Whether nothing else refers to the memory, which may be written then without a copy.
    var isAlone: Bool {
        mutating get { isKnownUniquelyReferenced(&storage) && storage.isWritable }
    }

    /// Makes the memory this value's own, with rows at the same distance.
    ///
    /// Where new memory is needed, the visible samples are copied only with `preservingContents`.
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
