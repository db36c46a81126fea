internal import Locking

/// Compresses a sequence of images, and only the parts that have changed.
///
/// An image is divided into strips, which are compressed on several cores, and kept. The strips are joined with restart
/// markers into one baseline JPEG, with the same pixels as a JPEG that was compressed as a whole. Of the next image,
/// only the strips with changed pixels are compressed.
///
/// The encoder keeps the compressed strips and a hash of each, not the pixels, and for each thread the maximum memory
/// that one strip can take. ``forget()`` discards what was kept, and so does a change of size, format or options. Only
/// one image is compressed at a time; a second caller waits.
package final class StripEncoder: Sendable {
    private let mcuRows: Int
    private let threads: Int
    private let key = ImageHash.Key()
    private let session = Locked(StripSession())

    /// Creates an encoder that has not seen an image.
    ///
    /// - Parameters:
    ///   - mcuRows: The height of the strips in rows of MCUs; fewer if a strip would have more than 65,535 MCUs. With one,
    ///     strips enclose changes closely, and an additional strip costs nothing.
    ///   - maximumThreads: The maximum number of threads for an image, including the caller's; nil, the default, allows
    ///     one per core.
    package init(mcuRows: Int = 1, maximumThreads: Int? = nil) {
        self.mcuRows = mcuRows
        threads = max(1, maximumThreads ?? Cores.count)
    }

    /// Appends the JPEG of an image to an output.
    ///
    /// - Parameters:
    ///   - image: The image.
    ///   - encoder: The options.
    ///   - damage: The rows in which the image may differ from the previous one; nil if in any. Strips outside them are reused
    ///     without a look at their pixels.
    ///   - output: The output for the JPEG; its free capacity must be at least `maximumByteCount` of the encoder.
    /// - Returns: The rows that may differ from those of the previous image; all rows of the first one.
    /// - Throws: The errors of `JPEGEncoder.encode(_:into:)`. Any error except `outputTooSmall` discards what was kept.
    @discardableResult
    package func encode(
        _ image: PixelBuffer,
        with encoder: JPEGEncoder,
        damage: RowSet? = nil,
        into output: inout OutputSpan<UInt8>
    ) throws(TurboJPEGError) -> StripChanges {
        let needed = try encoder.maximumByteCount(width: image.width, height: image.height)
        guard output.freeCapacity >= needed else {
            throw .outputTooSmall(image, needed: needed, available: output.freeCapacity)
        }
        return try session.withLock { session throws(TurboJPEGError) in
            let changes: StripChanges
            do throws(TurboJPEGError) {
                changes = try session.update(
                    image,
                    encoder,
                    mcuRows: mcuRows,
                    damage: damage,
                    key: key,
                    threads: threads
                )
            } catch {
                session = StripSession()
                throw error
            }
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

    /// Discards what was kept: the next image is compressed as a whole.
    package func forget() {
        session.withLock { $0 = StripSession() }
    }
}

extension TurboJPEGError {
    /// Returns the error for an output without enough room for the JPEG of an image.
    static func outputTooSmall(_ image: PixelBuffer, needed: Int, available: Int) -> Self {
        Self(
            .outputTooSmall,
            "an image of \(image.width)x\(image.height) needs room for \(needed) bytes; the output has \(available)"
        )
    }
}
