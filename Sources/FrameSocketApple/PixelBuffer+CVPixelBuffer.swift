// Type-checked against stubs, not run on a device.

#if canImport(CoreVideo)
    public import CoreVideo
    public import FrameSocket

    extension PixelBuffer {
        /// A picture over the memory of a Core Video buffer, without a copy.
        ///
        /// The buffer is locked for reading (`CVPixelBufferLockBaseAddress`) and kept until the last copy of the picture goes;
        /// nothing writes to it. Sources hand out few buffers in turns, so pictures should not be hoarded: an
        /// uploader holds two at most.
        ///
        /// `kCVPixelFormatType_32BGRA` becomes `bgra`, and both ranges of `kCVPixelFormatType_420YpCbCr8BiPlanar` become
        /// `nv12`, whose samples are taken for full range: those of video range have to be expanded before they are
        /// encoded, as `SampleHandler` does it.
        ///
        /// - Throws: `unsupported` for other pixel formats, `allocationFailed` where the buffer has no memory that can be read,
        ///   `invalidSize`, `invalidStride`.
        public init(_ buffer: CVPixelBuffer) throws(TurboJPEGError) {
            guard let format = PixelFormat(coreVideo: CVPixelBufferGetPixelFormatType(buffer)) else {
                throw TurboJPEGError(
                    .unsupported,
                    "Of the pixel formats of Core Video, only BGRA and NV12 can be read."
                )
            }
            guard let lock = ReadLock.lock(buffer), let planes = unsafe CoreVideoPlanes.of(buffer, format) else {
                throw TurboJPEGError(.allocationFailed, "The memory of the Core Video buffer cannot be read.")
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

    /// Keeps a buffer, and its memory where it is, as long as this object lives.
    ///
    /// - Note: `@unchecked Sendable` holds because a Core Video buffer may be unlocked and released on any thread, and nothing
    ///   else is done to it once it is locked but to read it.
    @safe private final class ReadLock: @unchecked Sendable {
        private let buffer: CVPixelBuffer

        private init(locked buffer: CVPixelBuffer) {
            self.buffer = buffer
        }

        deinit {
            CVPixelBufferUnlockBaseAddress(buffer, .readOnly)
        }

        /// The lock, or nil where Core Video refuses it.
        static func lock(_ buffer: CVPixelBuffer) -> ReadLock? {
            // Only what was locked may be unlocked, so the object comes second.
            CVPixelBufferLockBaseAddress(buffer, .readOnly) == kCVReturnSuccess ? ReadLock(locked: buffer) : nil
        }
    }

    enum CoreVideoPlanes {
        /// Where the planes of a locked buffer lie; nil if it has none in memory.
        @unsafe static func of(
            _ buffer: CVPixelBuffer,
            _ format: PixelFormat
        ) -> [(base: UnsafeMutablePointer<UInt8>, bytesPerRow: Int)]? {
            var planes: [(base: UnsafeMutablePointer<UInt8>, bytesPerRow: Int)] = unsafe []
            for index in 0..<format.planeCount {
                let start =
                    unsafe format.isPlanar
                    ? CVPixelBufferGetBaseAddressOfPlane(buffer, index) : CVPixelBufferGetBaseAddress(buffer)
                guard let start = unsafe start else { return nil }
                let bytesPerRow =
                    format.isPlanar
                    ? CVPixelBufferGetBytesPerRowOfPlane(buffer, index) : CVPixelBufferGetBytesPerRow(buffer)
                unsafe planes.append((start.assumingMemoryBound(to: UInt8.self), bytesPerRow))
            }
            return unsafe planes
        }
    }
#endif
