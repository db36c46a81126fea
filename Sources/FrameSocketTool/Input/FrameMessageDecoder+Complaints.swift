import FrameSocket

extension FrameMessageDecoder.Limits {
    /// Why receivers with these limits reject an image of that size; nil if they accept it.
    func complaint(width: Int, height: Int) -> String? {
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        guard max(width, height) > maximumDimension || overflow || pixels > maximumPixels else { return nil }
        return
            "\(width)x\(height) pixels; receivers accept at most \(maximumPixels) pixels and \(maximumDimension) per side"
    }

    /// Why receivers with these limits reject a JPEG of so many bytes; nil if they accept it.
    func complaint(byteCount: Int) -> String? {
        guard byteCount > maximumContentLength else { return nil }
        return "\(byteCount) bytes; receivers accept at most \(maximumContentLength)"
    }
}
