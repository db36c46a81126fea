// Type-checked against stubs, not run on a device.

#if canImport(CoreVideo) && canImport(ReplayKit)
    public import CoreVideo
    internal import Foundation
    public import FrameSocket
    internal import Locking
    internal import ReplayKit

    /// A received frame in a Core Video buffer, for views, encoders and media engines.
    public struct CoreVideoFrame {
        /// The pixels, with attached color and orientation as described in ``CoreVideoDecoder``.
        public let buffer: CVPixelBuffer

        /// The image's orientation; `up` if the decoder has rotated it.
        public let orientation: FrameOrientation

        /// The presentation time in nanoseconds: the sender's, or the time of arrival if the sender states none.
        public let timestamp: UInt64
    }

    /// Decodes received frames into pooled Core Video buffers.
    ///
    /// ```swift
    /// let decoder = CoreVideoDecoder(format: .nv12)
    /// for try await frame in connection.frames {
    ///     let image = try decoder.decode(frame)
    ///     show(image.buffer, turnedBy: image.orientation.rotation)
    /// }
    /// ```
    ///
    /// Every buffer is backed by an IOSurface and states its color space: BT.709 primaries, the sRGB transfer function
    /// and, for NV12, full range and the BT.601 matrix, which is a JPEG's color space. If the image is not upright, its
    /// orientation is attached under `RPVideoSampleOrientationKey`, as in ReplayKit.
    ///
    /// The frame is decoded as by `FrameDecoder`, strip by strip if its sender cuts strips, and then copied once into
    /// the buffer: an image that is kept for the next frame cannot be in a buffer that the consumer holds.
    public final class CoreVideoDecoder: Sendable {
        /// The pixel format of the buffers.
        public enum Format: Sendable, Hashable, CaseIterable {
            /// `kCVPixelFormatType_420YpCbCr8BiPlanarFullRange`
            case nv12
            /// `kCVPixelFormatType_32BGRA`
            case bgra

            /// The corresponding pixel format.
            fileprivate var pixelFormat: PixelFormat {
                switch self {
                case .nv12: .nv12
                case .bgra: .bgra
                }
            }

            fileprivate var coreVideo: OSType {
                switch self {
                case .nv12: kCVPixelFormatType_420YpCbCr8BiPlanarFullRange
                case .bgra: kCVPixelFormatType_32BGRA
                }
            }
        }

        /// The pixel format of the buffers.
        public let format: Format

        private let decoder: FrameDecoder
        private let isUpright: Bool
        private let pool = Locked<BufferPool?>(nil)

        /// Creates a decoder with the pixel format of its buffers.
        public init(format: Format = .nv12, configuration: FrameDecoder.Configuration = .init()) {
            self.format = format
            decoder = FrameDecoder(configuration: configuration)
            isUpright = configuration.isUpright
        }

        /// Decodes a frame.
        ///
        /// - Parameter frame: The frame. Zero bytes after its JPEG are ignored.
        /// - Returns: The image, with time and orientation. Its buffer returns to the pool when the last reference is
        ///   released.
        /// - Throws: The errors of `FrameDecoder`, and `allocationFailed` if Core Video has no buffer.
        public func decode(_ frame: Frame) throws(TurboJPEGError) -> CoreVideoFrame {
            let image = try decoder.decode(frame, as: format.pixelFormat).image
            let orientation: FrameOrientation = isUpright ? .up : frame.orientation
            let target = try buffer(width: image.width, height: image.height)
            try target.fill(with: image)
            target.attach(orientation, format)
            return CoreVideoFrame(
                buffer: target.buffer,
                orientation: orientation,
                timestamp: frame.timestamp ?? frame.receivedAt
            )
        }

        private func buffer(width: Int, height: Int) throws(TurboJPEGError) -> PooledBuffer {
            let buffer = pool.withLock { pool in
                if pool?.width != width || pool?.height != height {
                    pool = BufferPool(width: width, height: height, format.coreVideo)
                }
                return pool?.next()
            }
            guard let buffer else {
                throw TurboJPEGError(.allocationFailed, "Core Video cannot allocate a buffer of \(width)x\(height)")
            }
            return buffer
        }
    }

    /// A pool of Core Video buffers of one size.
    ///
    /// - Note: `@unchecked Sendable` holds because it is used only under its decoder's lock.
    private final class BufferPool: @unchecked Sendable {
        let width: Int
        let height: Int
        private let pool: CVPixelBufferPool

        init?(width: Int, height: Int, _ format: OSType) {
            let attributes: NSDictionary = [
                kCVPixelBufferPixelFormatTypeKey: NSNumber(value: format),
                kCVPixelBufferWidthKey: NSNumber(value: width),
                kCVPixelBufferHeightKey: NSNumber(value: height),
                kCVPixelBufferIOSurfacePropertiesKey: NSDictionary(),
            ]
            var pool: CVPixelBufferPool?
            guard unsafe CVPixelBufferPoolCreate(nil, nil, attributes as CFDictionary, &pool) == kCVReturnSuccess,
                let pool
            else { return nil }
            (self.width, self.height, self.pool) = (width, height, pool)
        }

        func next() -> PooledBuffer? {
            var buffer: CVPixelBuffer?
            guard unsafe CVPixelBufferPoolCreatePixelBuffer(nil, pool, &buffer) == kCVReturnSuccess else { return nil }
            return buffer.map(PooledBuffer.init)
        }
    }

    /// A buffer with a single owner.
    ///
    /// - Note: `@unchecked Sendable` holds because it passes from the lock to one caller.
    @safe private final class PooledBuffer: @unchecked Sendable {
        let buffer: CVPixelBuffer

        init(_ buffer: CVPixelBuffer) {
            self.buffer = buffer
        }

        /// Copies an image of the buffer's size and format.
        func fill(with image: PixelBuffer) throws(TurboJPEGError) {
            guard CVPixelBufferLockBaseAddress(buffer, []) == kCVReturnSuccess else {
                throw TurboJPEGError(.allocationFailed, "the memory of the Core Video buffer cannot be written")
            }
            defer { CVPixelBufferUnlockBaseAddress(buffer, []) }
            guard let planes = unsafe CoreVideoPlanes.of(buffer, image.format) else {
                throw TurboJPEGError(.allocationFailed, "the Core Video buffer has no memory")
            }
            try unsafe image.copySamples(to: planes)
        }

        /// Attaches the color space and the orientation.
        func attach(_ orientation: FrameOrientation, _ format: CoreVideoDecoder.Format) {
            set(kCVImageBufferColorPrimariesKey, kCVImageBufferColorPrimaries_ITU_R_709_2)
            set(kCVImageBufferTransferFunctionKey, kCVImageBufferTransferFunction_sRGB)
            if format == .nv12 { set(kCVImageBufferYCbCrMatrixKey, kCVImageBufferYCbCrMatrix_ITU_R_601_4) }
            // A pooled buffer may have the orientation of another frame.
            CVBufferRemoveAttachment(buffer, RPVideoSampleOrientationKey as CFString)
            guard orientation.isMirrored || orientation.rotation != 0 else { return }
            let number = NSNumber(value: UInt32(clamping: orientation.rawValue))
            CVBufferSetAttachment(buffer, RPVideoSampleOrientationKey as CFString, number, .shouldPropagate)
        }

        private func set(_ key: CFString, _ value: CFString) {
            CVBufferSetAttachment(buffer, key, NSString(string: value as String), .shouldPropagate)
        }
    }
#endif
