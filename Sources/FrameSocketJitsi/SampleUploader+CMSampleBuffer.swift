// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    public import CoreMedia
    internal import FrameSocketApple

    extension SampleUploader {
        /// Submits the image of a video sample.
        ///
        /// - Returns: Whether it was accepted; false if the connection is not open, the app wants no images, or the
        ///   sample has no image that can be read.
        @discardableResult
        public func send(sample buffer: CMSampleBuffer) -> Bool {
            guard let sample = try? VideoSample(buffer) else { return false }
            return send(
                copying: sample.image,
                color: sample.color,
                orientation: sample.orientation,
                timestamp: sample.timestamp
            )
        }
    }
#endif
