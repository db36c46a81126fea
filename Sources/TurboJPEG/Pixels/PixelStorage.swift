internal import SystemMemory

/// The memory behind one or more `PixelBuffer` values.
///
/// Sendable: everything stored is constant, and the bytes are written only through a `PixelBuffer` that is the only
/// reference to this object.
@safe final class PixelStorage: @unchecked Sendable {
    @unsafe private enum Origin {
        case own(UnsafeMutableRawBufferPointer)
        case foreign(release: @Sendable () -> Void)
    }

    /// The start of each plane.
    let bases: PerPlane<UnsafeMutablePointer<UInt8>>
    /// The distance between the rows of each plane.
    let strides: PerPlane<Int>
    /// The shelf that the memory returns to, and that provides the memory of a copy.
    let shelf: MemoryShelf
    private let origin: Origin

    /// Keeps nothing: of images without a pool.
    static let noShelf = MemoryShelf(maximumIdle: 0, alignment: PixelLayout.alignment)

    /// Allocates memory, which is not zero-filled.
    init(layout: PixelLayout, shelf: MemoryShelf) throws(TurboJPEGError) {
        guard let block = unsafe shelf.take(byteCount: layout.byteCount), let base = block.baseAddress else {
            throw TurboJPEGError(.allocationFailed, "not enough memory for an image of \(layout.byteCount) bytes")
        }
        let bytes = unsafe base.assumingMemoryBound(to: UInt8.self)
        unsafe bases = unsafe PerPlane(
            bytes + layout.offsets[0],
            bytes + layout.offsets[1],
            bytes + layout.offsets[2]
        )
        strides = layout.strides
        self.shelf = shelf
        unsafe origin = unsafe .own(block)
    }

    /// Adopts memory of the caller, which is only read; `release` is called once, at the end.
    @unsafe init(
        adopting bases: PerPlane<UnsafeMutablePointer<UInt8>>,
        strides: PerPlane<Int>,
        release: @escaping @Sendable () -> Void
    ) {
        unsafe self.bases = unsafe bases
        self.strides = strides
        shelf = Self.noShelf
        unsafe origin = unsafe .foreign(release: release)
    }

    deinit {
        switch unsafe origin {
        case .own(let block): unsafe shelf.giveBack(block)
        case .foreign(let release): release()
        }
    }

    /// Whether the bytes may be written at all.
    var isWritable: Bool {
        if case .own = unsafe origin { true } else { false }
    }
}

/// One value for each of an image's planes, of which there are at most three, without an allocation.
///
/// `InlineArray` would do, but it requires newer versions of Apple's platforms than this package does.
struct PerPlane<Element> {
    private var first: Element
    private var second: Element
    private var third: Element

    /// Creates the three values; those beyond a format's planes are never read.
    init(_ first: Element, _ second: Element, _ third: Element) {
        self.first = first
        self.second = second
        self.third = third
    }

    subscript(_ plane: Int) -> Element {
        get {
            switch plane {
            case 0: first
            case 1: second
            default: third
            }
        }
        set {
            switch plane {
            case 0: first = newValue
            case 1: second = newValue
            default: third = newValue
            }
        }
    }
}

extension PerPlane: Sendable where Element: Sendable {}
