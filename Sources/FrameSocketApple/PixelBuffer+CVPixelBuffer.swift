// Type-checked against stubs, not run on a device.

#if canImport(CoreVideo)
    public import CoreVideo
    public import FrameSocket

    extension PixelBuffer {
        /// Creates an image over the memory of a Core Video buffer, without copying.
        ///
        /// The buffer is locked for reading (`CVPixelBufferLockBaseAddress`) and retained until the last copy of the
        /// image is released; nothing writes to it. Sources reuse a small number of buffers, so do not hold many
        /// images: an uploader holds at most two.
        ///
        /// `kCVPixelFormatType_32BGRA` becomes `bgra`, and both ranges of `kCVPixelFormatType_420YpCbCr8BiPlanar`
        /// become `nv12`, whose samples are interpreted as full range: expand video-range samples before encoding, as
        /// `SampleHandler` does.
        ///
        /// - Throws: `unsupported` for other pixel formats, `allocationFailed` if the buffer has no readable memory,
        ///   `invalidSize`, `invalidStride`.
        public init(_ buffer: CVPixelBuffer) throws(TurboJPEGError) {
            guard let format = PixelFormat(coreVideo: CVPixelBufferGetPixelFormatType(buffer)) else {
                throw TurboJPEGError(
                    .unsupported,
                    "unsupported Core Video pixel format; only BGRA and NV12 can be read"
                )
            }
            guard let lock = ReadLock.lock(buffer), let planes = unsafe CoreVideoPlanes.of(buffer, format) else {
                throw TurboJPEGError(.allocationFailed, "the memory of the Core Video buffer cannot be read")
            }
            try unsafe self.init(
                adopting: planes.map { unsafe (UnsafePointer($0.base), $0.bytesPerRow) },
                width: CVPixelBufferGetWidth(buffer),
                height: CVPixelBufferGetHeight(buffer),
                format: format
            ) { withExtendedLifetime(lock) {} }
        }
    }

    extension PixelFormat {
        fileprivate init?(coreVideo type: OSType) {
            switch type {
            case kCVPixelFormatType_32BGRA: self = .bgra
            case kCVPixelFormatType_420YpCbCr8BiPlanarFullRange, kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange:
                self = .nv12
            default: return nil
            }
        }
    }

    /// Retains a buffer, and pins its memory, for the lifetime of this object.
    ///
    /// - Note: `@unchecked Sendable` holds because a Core Video buffer may be unlocked and released on any thread, and
    ///   is otherwise only read once it is locked.
    @safe private final class ReadLock: @unchecked Sendable {
        private let buffer: CVPixelBuffer

        private init(locked buffer: CVPixelBuffer) {
            self.buffer = buffer
        }

        deinit {
            CVPixelBufferUnlockBaseAddress(buffer, .readOnly)
        }

        /// Locks a buffer; nil if Core Video refuses.
        static func lock(_ buffer: CVPixelBuffer) -> ReadLock? {
            // Only a locked buffer may be unlocked, so the object is created after locking.
            CVPixelBufferLockBaseAddress(buffer, .readOnly) == kCVReturnSuccess ? ReadLock(locked: buffer) : nil
        }
    }

    enum CoreVideoPlanes {
        /// Returns the planes of a locked buffer; nil if it has none in memory.
        @unsafe static func of(
            _ buffer: CVPixelBuffer,
            _ format: PixelFormat
        ) -> [(base: UnsafeMutablePointer<UInt8>, bytesPerRow: Int)]? {
            var planes: [(base: UnsafeMutablePointer<UInt8>, bytesPerRow: Int)] = unsafe []
            for index in 0..<format.planeCount {
                let start =
                    unsafe format.isPlanar
                    ? CVPixelBufferGetBaseAddressOfPlane(buffer, index) : CVPixelBufferGetBaseAddress(buffer)
                // Odd sides are rounded up, as in every image of this package.
                let rows = (CVPixelBufferGetHeight(buffer) + (index > 0 ? 1 : 0)) / (index > 0 ? 2 : 1)
                guard let start = unsafe start,
                    !format.isPlanar || CVPixelBufferGetHeightOfPlane(buffer, index) >= rows
                else { return nil }
                let bytesPerRow =
                    format.isPlanar
                    ? CVPixelBufferGetBytesPerRowOfPlane(buffer, index) : CVPixelBufferGetBytesPerRow(buffer)
                unsafe planes.append((start.assumingMemoryBound(to: UInt8.self), bytesPerRow))
            }
            return unsafe planes
        }
    }
#endif
