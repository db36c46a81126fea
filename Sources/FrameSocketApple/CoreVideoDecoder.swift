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
        }

        private let format: Format
        private let decoder: FrameDecoder
        private let pool = Locked<(buffers: CVPixelBufferPool, width: Int, height: Int)?>(nil)

        /// Creates a decoder with the pixel format of its buffers.
        public init(format: Format = .nv12, configuration: FrameDecoder.Configuration = .init()) {
            self.format = format
            decoder = FrameDecoder(configuration: configuration)
        }

        /// Decodes a frame.
        ///
        /// - Parameter frame: The frame. Zero bytes after its JPEG are ignored.
        /// - Returns: The image, with time and orientation. Its buffer returns to the pool when the last reference is
        ///   released.
        /// - Throws: The errors of `FrameDecoder`, and `allocationFailed` if Core Video has no buffer.
        public func decode(_ frame: Frame) throws(TurboJPEGError) -> CoreVideoFrame {
            let decoded = try decoder.decode(frame, as: format == .nv12 ? .nv12 : .bgra)
            let image = decoded.image
            guard let buffer = buffer(width: image.width, height: image.height),
                CVPixelBufferLockBaseAddress(buffer, []) == kCVReturnSuccess
            else {
                let size = "\(image.width)x\(image.height)"
                throw TurboJPEGError(.allocationFailed, "Core Video cannot allocate a buffer of \(size)")
            }
            defer { CVPixelBufferUnlockBaseAddress(buffer, []) }
            guard let planes = unsafe buffer.planes(as: image.format) else {
                throw TurboJPEGError(.allocationFailed, "the Core Video buffer has no memory")
            }
            let target = try unsafe PixelBuffer(
                adopting: planes,
                width: image.width,
                height: image.height,
                format: image.format
            ) {}
            try unsafe image.copy(nil, over: target)
            attach(decoded.orientation, to: buffer)
            return CoreVideoFrame(buffer: buffer, orientation: decoded.orientation, timestamp: decoded.timestamp)
        }

        /// Returns a buffer that nobody uses; nil if Core Video has none.
        private func buffer(width: Int, height: Int) -> CVPixelBuffer? {
            pool.withLock { pool in
                if pool?.width != width || pool?.height != height {
                    let type =
                        format == .nv12 ? kCVPixelFormatType_420YpCbCr8BiPlanarFullRange : kCVPixelFormatType_32BGRA
                    let attributes: NSDictionary = [
                        kCVPixelBufferPixelFormatTypeKey: NSNumber(value: type),
                        kCVPixelBufferWidthKey: NSNumber(value: width),
                        kCVPixelBufferHeightKey: NSNumber(value: height),
                        kCVPixelBufferIOSurfacePropertiesKey: NSDictionary(),
                    ]
                    var buffers: CVPixelBufferPool?
                    let result = unsafe CVPixelBufferPoolCreate(nil, nil, attributes as CFDictionary, &buffers)
                    pool = result == kCVReturnSuccess ? buffers.map { ($0, width, height) } : nil
                }
                guard let pool else { return nil }
                var buffer: CVPixelBuffer?
                let result = unsafe CVPixelBufferPoolCreatePixelBuffer(nil, pool.buffers, &buffer)
                return result == kCVReturnSuccess ? buffer : nil
            }
        }

        /// Attaches the color space, and the orientation unless the image is upright.
        private func attach(_ orientation: FrameOrientation, to buffer: CVPixelBuffer) {
            func set(_ key: CFString, _ value: CFString) {
                CVBufferSetAttachment(buffer, key, NSString(string: value as String), .shouldPropagate)
            }
            set(kCVImageBufferColorPrimariesKey, kCVImageBufferColorPrimaries_ITU_R_709_2)
            set(kCVImageBufferTransferFunctionKey, kCVImageBufferTransferFunction_sRGB)
            if format == .nv12 { set(kCVImageBufferYCbCrMatrixKey, kCVImageBufferYCbCrMatrix_ITU_R_601_4) }
            // A pooled buffer may have the orientation of another frame.
            CVBufferRemoveAttachment(buffer, RPVideoSampleOrientationKey as CFString)
            guard orientation.isMirrored || orientation.rotation != 0 else { return }
            let number = NSNumber(value: UInt32(clamping: orientation.rawValue))
            CVBufferSetAttachment(buffer, RPVideoSampleOrientationKey as CFString, number, .shouldPropagate)
        }
    }
#endif
