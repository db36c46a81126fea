// Type-checked against stubs, not run on a device.

#if canImport(CoreVideo)
    public import CoreVideo
    internal import Foundation
    public import FrameSocket
#else
    package import FrameSocket
#endif

#if canImport(CoreVideo)
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
            guard let (format, _, isTenBit) = readableFormats[type] else {
                // A pixel format has four letters, or a small number.
                let letters = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: type >> $0) }
                let isText = letters.allSatisfy { 0x20..<0x7F ~= $0 }
                let name = isText ? "'\(String(decoding: letters, as: UTF8.self))'" : "\(type)"
                throw TurboJPEGError(
                    .unsupported,
                    "Core Video's pixel format \(name) cannot be read; only 32-bit RGB and 4:2:0 YCbCr can"
                )
            }
            guard let lock = ReadLock(buffer), let planes = unsafe buffer.planes(as: format) else {
                throw TurboJPEGError(.allocationFailed, "the memory of the Core Video buffer cannot be read")
            }
            let (width, height) = (CVPixelBufferGetWidth(buffer), CVPixelBufferGetHeight(buffer))
            guard isTenBit else {
                try unsafe self.init(adopting: planes, width: width, height: height, format: format) {
                    withExtendedLifetime(lock) {}
                }
                return
            }
            defer { withExtendedLifetime(lock) {} }
            try unsafe self.init(tenBit: planes, width: width, height: height)
        }
    }

    extension PixelBuffer.Color {
        /// Creates the color space of a Core Video buffer, from its pixel format and its attached matrix.
        ///
        /// The matrix is BT.601 unless BT.709 is attached, as cameras and high-definition screens do.
        init(_ buffer: CVPixelBuffer) {
            let isLimited = readableFormats[CVPixelBufferGetPixelFormatType(buffer)]?.isLimited == true
            let attached = CVBufferCopyAttachment(buffer, kCVImageBufferYCbCrMatrixKey, nil) as? NSString
            let is709 = attached?.isEqual(to: kCVImageBufferYCbCrMatrix_ITU_R_709_2 as String) == true
            self.init(range: isLimited ? .limited : .full, matrix: is709 ? .bt709 : .bt601)
        }
    }

    /// How the samples of a Core Video buffer are read: as which format, whether they have video range, and whether they are
    /// the upper 10 bits of 16, which are rounded to 8 in a copy.
    private let readableFormats: [OSType: (format: PixelFormat, isLimited: Bool, isTenBit: Bool)] = [
        kCVPixelFormatType_32BGRA: (.bgra, false, false),
        kCVPixelFormatType_32RGBA: (.rgba, false, false),
        kCVPixelFormatType_32ARGB: (.argb, false, false),
        kCVPixelFormatType_32ABGR: (.abgr, false, false),
        kCVPixelFormatType_420YpCbCr8BiPlanarFullRange: (.nv12, false, false),
        kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange: (.nv12, true, false),
        kCVPixelFormatType_420YpCbCr8PlanarFullRange: (.i420, false, false),
        kCVPixelFormatType_420YpCbCr8Planar: (.i420, true, false),
        kCVPixelFormatType_420YpCbCr10BiPlanarFullRange: (.nv12, false, true),
        kCVPixelFormatType_420YpCbCr10BiPlanarVideoRange: (.nv12, true, true),
    ]

    /// Retains a buffer, and pins its memory, for the lifetime of this object.
    ///
    /// - Note: `@unchecked Sendable` holds because a Core Video buffer may be unlocked and released on any thread, and
    ///   is otherwise only read once it is locked.
    @safe private final class ReadLock: @unchecked Sendable {
        private let buffer: CVPixelBuffer

        /// Locks a buffer; nil if Core Video refuses, after which nothing is unlocked.
        init?(_ buffer: CVPixelBuffer) {
            guard CVPixelBufferLockBaseAddress(buffer, .readOnly) == kCVReturnSuccess else { return nil }
            self.buffer = buffer
        }

        deinit {
            CVPixelBufferUnlockBaseAddress(buffer, .readOnly)
        }
    }

    extension CVPixelBuffer {
        /// Returns the planes of a locked buffer; nil if it has none in memory.
        @unsafe func planes(as format: PixelFormat) -> [(base: UnsafePointer<UInt8>, bytesPerRow: Int)]? {
            var planes: [(base: UnsafePointer<UInt8>, bytesPerRow: Int)] = unsafe []
            for index in 0..<format.planeCount {
                let isPlanar = format.isPlanar
                let rows = format.planeHeight(index, height: CVPixelBufferGetHeight(self))
                let start =
                    unsafe isPlanar
                    ? CVPixelBufferGetBaseAddressOfPlane(self, index) : CVPixelBufferGetBaseAddress(self)
                guard let start = unsafe start, !isPlanar || CVPixelBufferGetHeightOfPlane(self, index) >= rows else {
                    return nil
                }
                let bytesPerRow =
                    isPlanar ? CVPixelBufferGetBytesPerRowOfPlane(self, index) : CVPixelBufferGetBytesPerRow(self)
                unsafe planes.append((UnsafePointer(start.assumingMemoryBound(to: UInt8.self)), bytesPerRow))
            }
            return unsafe planes
        }
    }
#endif

extension PixelBuffer {
    /// Creates an NV12 image from two planes of 10-bit samples, as HDR content has them, by rounding each to 8 bits.
    ///
    /// - Parameters:
    ///   - planes: The first sample and the bytes per row of luma and of interleaved chroma. A sample is the upper 10 bits
    ///     of 16, in little-endian order.
    ///   - width: The width in pixels.
    ///   - height: The height in pixels; odd sides are rounded up in the chroma plane.
    /// - Throws: `invalidStride` if a row has no room for its samples, `invalidSize`, `allocationFailed`.
    @unsafe package init(
        tenBit planes: [(base: UnsafePointer<UInt8>, bytesPerRow: Int)],
        width: Int,
        height: Int
    ) throws(TurboJPEGError) {
        try self.init(width: width, height: height, format: .nv12)
        for index in 0..<planeCount {
            let (base, bytesPerRow) = unsafe planes[index]
            guard bytesPerRow >= 2 * plane(index).visibleBytesPerRow else {
                throw TurboJPEGError(.invalidStride, "\(bytesPerRow) bytes per row are too few for 10-bit samples")
            }
            for row in 0..<plane(index).height {
                let source = unsafe base + row * bytesPerRow
                try withMutableRow(row, ofPlane: index) { target in
                    for column in target.indices {
                        let sample = unsafe UInt32(source[2 * column]) | UInt32(source[2 * column + 1]) << 8
                        target[column] = UInt8(clamping: (sample + 0x80) >> 8)
                    }
                }
            }
        }
    }
}
