// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    package import CoreMedia
    internal import CoreVideo
    internal import Foundation
    package import FrameSocket
    internal import ReplayKit

    /// The image of a sample from ReplayKit, with everything that is sent of it.
    package struct VideoSample {
        /// The pixels, in memory that the source reuses as soon as its callback returns.
        package let image: PixelBuffer
        package let color: PixelBuffer.Color
        package let orientation: FrameOrientation
        package let timestamp: UInt64?

        /// Reads a sample.
        ///
        /// - Throws: `unsupported` if it has no image, or one of another format; the errors of
        ///   `PixelBuffer.init(_: CVPixelBuffer)`.
        package init(_ sample: CMSampleBuffer) throws(TurboJPEGError) {
            guard let buffer = CMSampleBufferGetImageBuffer(sample) else {
                throw TurboJPEGError(.unsupported, "the sample contains no image")
            }
            image = try PixelBuffer(buffer)
            color = PixelBuffer.Color(buffer)
            orientation = sample.orientation
            timestamp = sample.presentationNanoseconds
        }
    }

    extension CMSampleBuffer {
        /// The image's orientation according to ReplayKit; `unknown` if it states none.
        fileprivate var orientation: FrameOrientation {
            let value = CMGetAttachment(self, key: RPVideoSampleOrientationKey as CFString, attachmentModeOut: nil)
            guard let number = value as? NSNumber else { return .unknown }
            return UInt8(exactly: number.uint32Value).flatMap(FrameOrientation.init(rawValue:)) ?? .unknown
        }
    }
#endif
