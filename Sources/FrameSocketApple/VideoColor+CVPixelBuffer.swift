// Type-checked against stubs, not run on a device.

#if canImport(CoreVideo)
    internal import CoreVideo
    internal import Foundation
    internal import FrameSocket

    extension VideoColor {
        /// What the samples of a Core Video buffer mean, by its pixel format and the matrix that is attached to it.
        ///
        /// The matrix is that of BT.601 unless BT.709's is attached, as cameras and screens of high definition do.
        init(_ buffer: CVPixelBuffer) {
            let isLimited = CVPixelBufferGetPixelFormatType(buffer) == kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange
            let attached = CVBufferCopyAttachment(buffer, kCVImageBufferYCbCrMatrixKey, nil) as? NSString
            let is709 = attached?.isEqual(to: kCVImageBufferYCbCrMatrix_ITU_R_709_2 as String) == true
            self.init(range: isLimited ? .limited : .full, matrix: is709 ? .bt709 : .bt601)
        }
    }
#endif
