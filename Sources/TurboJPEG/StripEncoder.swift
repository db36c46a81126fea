internal import Locking

/// Compresses pictures that follow one another, and again only what has changed.
///
/// A picture is cut into strips, which are compressed on several cores, and kept. The strips are put together
/// under restart markers to one baseline JPEG, whose pixels are those of a JPEG that was compressed as a whole. Of the next
/// picture only the strips with other pixels are compressed.
///
///     let strips = StripEncoder()
///     let jpeg = try strips.encode(picture, with: JPEGEncoder(quality: 90)).jpeg
///
/// It keeps the compressed strips and a hash of each, not the pixels, and for each thread the memory that one strip can
/// take. What was kept is given up by ``forget()``, and when size, format or options change. One picture is compressed at a
/// time; a second caller waits.
public final class StripEncoder: Sendable {
    private let height: StripHeight
    private let threads: Int
    private let key = PictureHash.Key()
    private let session = Locked(StripSession())

    /// An encoder that has seen no picture.
    ///
    /// - Parameters:
    ///   - height: How high the strips are; by default as low as can be.
    ///   - maximumThreads: How many threads work on a picture at most, the caller's among them; nil, the default, for one on
    ///     each core.
    public init(height: StripHeight = .automatic, maximumThreads: Int? = nil) {
        self.height = height
        threads = max(1, maximumThreads ?? Cores.count)
    }

    /// Appends the JPEG of a picture to an output of the caller's.
    ///
    /// - Parameters:
    ///   - image: The picture.
    ///   - encoder: The options.
    ///   - output: Where the JPEG goes; its free capacity has to be `maximumByteCount` of the encoder.
    /// - Returns: Which rows may differ from those of the picture before; all of the first one.
    /// - Throws: What `JPEGEncoder.encode(_:into:)` does. What was kept is given up then.
    @discardableResult
    public func encode(
        _ image: PixelBuffer,
        with encoder: JPEGEncoder,
        into output: inout OutputSpan<UInt8>
    ) throws(TurboJPEGError) -> StripChanges {
        let needed = try encoder.maximumByteCount(width: image.width, height: image.height)
        guard output.freeCapacity >= needed else {
            throw .outputTooSmall(image, needed: needed, available: output.freeCapacity)
        }
        return try session.withLock { session throws(TurboJPEGError) in
            let changes = try update(&session, image, encoder)
            guard session.byteCount <= output.freeCapacity else {
                throw .outputTooSmall(image, needed: session.byteCount, available: output.freeCapacity)
            }
            session.write { bytes in
                unsafe bytes.withUnsafeBytes { bytes in
                    unsafe output.withUnsafeMutableBufferPointer { target, count in
                        guard let start = target.baseAddress else { return }
                        unsafe UnsafeMutableRawBufferPointer(start: start + count, count: bytes.count)
                            .copyMemory(from: bytes)
                        count += bytes.count
                    }
                }
            }
            return changes
        }
    }

    /// The JPEG of a picture, and which of its rows may differ from those of the picture before.
    ///
    /// - Throws: What `JPEGEncoder.encode(_:)` does. What was kept is given up then.
    public func encode(
        _ image: PixelBuffer,
        with encoder: JPEGEncoder
    ) throws(TurboJPEGError) -> (jpeg: [UInt8], changes: StripChanges) {
        try session.withLock { session throws(TurboJPEGError) in
            let changes = try update(&session, image, encoder)
            var jpeg: [UInt8] = []
            jpeg.reserveCapacity(session.byteCount)
            session.write { bytes in
                unsafe bytes.withUnsafeBytes { unsafe jpeg.append(contentsOf: $0) }
            }
            return (jpeg, changes)
        }
    }

    /// Gives up what was kept: the next picture is compressed as a whole.
    public func forget() {
        session.withLock { $0 = StripSession() }
    }

    /// Compresses what has changed.
    private func update(
        _ session: inout StripSession,
        _ image: PixelBuffer,
        _ encoder: JPEGEncoder
    ) throws(TurboJPEGError) -> StripChanges {
        do throws(TurboJPEGError) {
            return try session.update(image, encoder, height, key: key, threads: threads)
        } catch {
            session = StripSession()
            throw error
        }
    }
}

extension TurboJPEGError {
    /// An output without room for a picture's JPEG.
    static func outputTooSmall(_ image: PixelBuffer, needed: Int, available: Int) -> Self {
        Self(
            .outputTooSmall,
            "A picture of \(image.width)x\(image.height) needs room for \(needed) bytes, and there are \(available)."
        )
    }
}
