// Type-checked against stubs, not run on a device.

#if canImport(CoreVideo) && canImport(ReplayKit)
    public import CoreVideo
    internal import Foundation
    public import FrameSocket
    internal import Locking
    internal import ReplayKit

    /// A received frame in a Core Video buffer, for views, encoders and media engines that take these.
    public struct CoreVideoFrame {
        /// The pixels, with color and orientation attached as ``CoreVideoDecoder`` says.
        public let buffer: CVPixelBuffer

        /// How the image lies; up if the decoder has turned it.
        public let orientation: FrameOrientation

        /// The presentation time in nanoseconds: the sender's or, if it states none, when the frame was received.
        public let timestamp: UInt64
    }

    /// Decodes received frames into Core Video buffers of a pool.
    ///
    ///     let decoder = CoreVideoDecoder(format: .nv12)
    ///     for try await frame in connection.frames {
    ///         let image = try decoder.decode(frame)
    ///         show(image.buffer, turnedBy: image.orientation.rotation)
    ///     }
    ///
    /// Each buffer is backed by an IOSurface and states what its samples mean: the primaries of BT.709, the transfer function
    /// of sRGB and, if it is NV12, full range and the matrix of BT.601, which is what a JPEG holds. The orientation is attached as
    /// ReplayKit attaches it, under `RPVideoSampleOrientationKey`, if the image is not upright.
    ///
    /// The frame is decoded as `FrameDecoder` does it, strip by strip if its sender cuts strips, and then copied once into the
    /// buffer: an image that has to stay for the next frame cannot lie in a buffer that somebody else holds.
    public final class CoreVideoDecoder: Sendable {
        /// The pixel format of the buffers.
        public enum Format: Sendable, Hashable, CaseIterable {
            /// `kCVPixelFormatType_420YpCbCr8BiPlanarFullRange`
            case nv12
            /// `kCVPixelFormatType_32BGRA`
            case bgra

            /// The same as a format of images.
            public var pixelFormat: PixelFormat {
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

        /// Creates a decoder whose buffers have a pixel format.
        public init(format: Format = .nv12, configuration: FrameDecoder.Configuration = .init()) {
            self.format = format
            decoder = FrameDecoder(configuration: configuration)
            isUpright = configuration.isUpright
        }

        /// Decodes a frame.
        ///
        /// - Parameter frame: the frame; zero bytes behind its JPEG are ignored.
        /// - Returns: the image, with time and orientation. Its buffer goes back to the pool when the last reference goes.
        /// - Throws: what `FrameDecoder` throws, and `allocationFailed` if Core Video has no buffer.
        public func decode(_ frame: Frame) throws(TurboJPEGError) -> CoreVideoFrame {
            let image = try decoder.decode(frame, as: format.pixelFormat)
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
                throw TurboJPEGError(.allocationFailed, "Core Video has no buffer of \(width)x\(height).")
            }
            return buffer
        }
    }

    /// A pool of Core Video buffers of one size.
    ///
    /// - Note: `@unchecked Sendable` holds because it is used under its decoder's lock alone.
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

    /// A buffer that nobody else has yet.
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
                throw TurboJPEGError(.allocationFailed, "The memory of the Core Video buffer cannot be written.")
            }
            defer { CVPixelBufferUnlockBaseAddress(buffer, []) }
            guard let planes = unsafe CoreVideoPlanes.of(buffer, image.format) else {
                throw TurboJPEGError(.allocationFailed, "The Core Video buffer has no memory.")
            }
            try unsafe image.copySamples(to: planes)
        }

        /// States what the samples mean and how the image lies.
        func attach(_ orientation: FrameOrientation, _ format: CoreVideoDecoder.Format) {
            set(kCVImageBufferColorPrimariesKey, kCVImageBufferColorPrimaries_ITU_R_709_2)
            set(kCVImageBufferTransferFunctionKey, kCVImageBufferTransferFunction_sRGB)
            if format == .nv12 { set(kCVImageBufferYCbCrMatrixKey, kCVImageBufferYCbCrMatrix_ITU_R_601_4) }
            // A buffer of the pool may have that of another frame.
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
