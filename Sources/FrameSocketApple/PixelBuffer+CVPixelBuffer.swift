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
        /// | Core Video | becomes |
        /// |---|---|
        /// | `32BGRA`, which ReplayKit has; `32RGBA`, `32ARGB`, `32ABGR` | `bgra`, `rgba`, `argb`, `abgr` |
        /// | `420YpCbCr8BiPlanar`, which ReplayKit has; `420YpCbCr8Planar`; both ranges | `nv12`, `i420` |
        /// | `420YpCbCr10BiPlanar`, both ranges | `nv12`, in a copy of 8 bits |
        ///
        /// Samples are interpreted as full range: expand video-range samples before encoding, as `SampleHandler` does.
        ///
        /// - Throws: `unsupported` for other pixel formats, `allocationFailed` if the buffer has no readable memory,
        ///   `invalidSize`, `invalidStride`.
        public init(_ buffer: CVPixelBuffer) throws(TurboJPEGError) {
            let type = CVPixelBufferGetPixelFormatType(buffer)
            guard let format = CoreVideoFormat(type) else {
                let name = CoreVideoFormat.name(of: type)
                throw TurboJPEGError(
                    .unsupported,
                    "Core Video's pixel format \(name) cannot be read; only 32-bit RGB and 4:2:0 YCbCr can"
                )
            }
            guard let lock = ReadLock.lock(buffer), let planes = unsafe CoreVideoPlanes.of(buffer, format.pixelFormat)
            else {
                throw TurboJPEGError(.allocationFailed, "the memory of the Core Video buffer cannot be read")
            }
            let (width, height) = (CVPixelBufferGetWidth(buffer), CVPixelBufferGetHeight(buffer))
            let readable = unsafe planes.map { unsafe (base: UnsafePointer($0.base), bytesPerRow: $0.bytesPerRow) }
            switch format {
            case .direct(let format):
                try unsafe self.init(
                    adopting: readable.map { unsafe ($0.base, $0.bytesPerRow) },
                    width: width,
                    height: height,
                    format: format
                ) { withExtendedLifetime(lock) {} }
            case .tenBit:
                defer { withExtendedLifetime(lock) {} }
                try unsafe self.init(tenBit: readable, width: width, height: height)
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
