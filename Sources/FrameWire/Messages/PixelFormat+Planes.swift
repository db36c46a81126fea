extension PixelFormat {
    /// Returns the bytes of a buffer that a plane takes, from its first sample to its last, for a header that fits.
    package func range(of plane: SharedFrameHeader.Plane, _ index: Int, _ size: BufferSize) -> Range<Int> {
        guard let (visible, rows) = shape(ofPlane: index, in: size) else { return 0..<0 }
        return plane.offset..<(plane.offset + (rows - 1) * plane.bytesPerRow + visible)
    }

    /// Returns the number of visible bytes in a row of a plane, and the number of rows; nil if a row has more bytes than
    /// an integer can state.
    func shape(ofPlane plane: Int, in size: BufferSize) -> (bytesPerRow: Int, rows: Int)? {
        let columns = planeWidth(plane, width: size.width)
        let (bytesPerRow, overflows) = columns.multipliedReportingOverflow(by: bytesPerSample(plane: plane))
        return overflows ? nil : (bytesPerRow, planeHeight(plane, height: size.height))
    }
}
