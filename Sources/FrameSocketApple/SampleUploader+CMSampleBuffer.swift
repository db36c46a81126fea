// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    package import CoreMedia
    internal import Foundation
    package import FrameSocket
    internal import ReplayKit

    extension SampleUploader {
        /// Submits the image of a sample from ReplayKit, copying what is sent: its source reuses the memory as soon as the
        /// callback returns.
        ///
        /// - Throws: `unsupported` if it has no image, or one of another format; the errors of
        ///   `PixelBuffer.init(_: CVPixelBuffer)`.
        @discardableResult
        package func send(_ sample: CMSampleBuffer) throws(TurboJPEGError) -> Outcome {
            guard let buffer = CMSampleBufferGetImageBuffer(sample) else {
                throw TurboJPEGError(.unsupported, "the sample contains no image")
            }
            let value = CMGetAttachment(sample, key: RPVideoSampleOrientationKey as CFString, attachmentModeOut: nil)
            let number = (value as? NSNumber).flatMap { UInt8(exactly: $0.uint32Value) }
            return send(
                copying: try PixelBuffer(buffer),
                color: PixelBuffer.Color(buffer),
                orientation: number.flatMap(FrameOrientation.init(rawValue:)) ?? .unknown,
                timestamp: sample.presentationNanoseconds
            )
        }
    }

    extension CMSampleBuffer {
        /// The presentation time, in nanoseconds of the source's clock; nil if it states none.
        var presentationNanoseconds: UInt64? {
            let time = CMSampleBufferGetPresentationTimeStamp(self)
            // Neither infinite nor indefinite.
            guard time.flags.subtracting(.hasBeenRounded) == .valid else { return nil }
            let nanoseconds = CMTimeConvertScale(time, timescale: 1_000_000_000, method: .default)
            return UInt64(exactly: nanoseconds.value)
        }
    }
#endif
