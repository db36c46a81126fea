// Type-checked against stubs, not run on a device.

#if canImport(CoreVideo)
    internal import CoreVideo
    internal import Foundation
    internal import FrameSocket

    extension PixelBuffer.Color {
        /// Creates the color space of a Core Video buffer, from its pixel format and its attached matrix.
        ///
        /// The matrix is BT.601 unless BT.709 is attached, as cameras and high-definition screens do.
        init(_ buffer: CVPixelBuffer) {
            let isLimited = CoreVideoFormat.isLimited(CVPixelBufferGetPixelFormatType(buffer))
            let attached = CVBufferCopyAttachment(buffer, kCVImageBufferYCbCrMatrixKey, nil) as? NSString
            let is709 = attached?.isEqual(to: kCVImageBufferYCbCrMatrix_ITU_R_709_2 as String) == true
            self.init(range: isLimited ? .limited : .full, matrix: is709 ? .bt709 : .bt601)
        }
    }
#endif
