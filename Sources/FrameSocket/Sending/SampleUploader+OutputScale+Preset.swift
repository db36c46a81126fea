extension SampleUploader.OutputScale {
    /// A size of 16:9 by its usual name: the number of rows of the landscape image.
    ///
    /// The raw value is that number, so `Preset(rawValue: 720)` is ``p720``.
    public enum Preset: Int, Sendable, Hashable, CaseIterable {
        /// 640x360.
        case p360 = 360
        /// 960x540.
        case p540 = 540
        /// 1280x720.
        case p720 = 720
        /// 1920x1080.
        case p1080 = 1080
        /// 2560x1440.
        case p1440 = 1440
        /// 3840x2160.
        case p2160 = 2160

        /// The shorter side in pixels: the height in landscape.
        package var shortSide: Int { rawValue }

        /// The longer side in pixels: the width in landscape.
        package var longSide: Int { rawValue * 16 / 9 }
    }

    /// Returns the box of a preset's size, in the given direction.
    ///
    /// The direction is that of the upright image, which the viewer sees: if the orientation turns the image on its side,
    /// the buffer that is sent in landscape is higher than wide, unless the uploader rotates it
    /// (`Configuration.appliesOrientation`).
    ///
    /// Images are never enlarged, and what is sent has the aspect ratio of the image.
    ///
    /// - Parameters:
    ///   - preset: The size.
    ///   - rotation: The direction: that of the image by default, so that turning a phone keeps its resolution.
    /// - Returns: ``fit(width:height:rotation:)`` with the preset's sides.
    public static func preset(_ preset: Preset, rotation: Rotation = .withImage) -> SampleUploader.OutputScale {
        .fit(width: preset.longSide, height: preset.shortSide, rotation: rotation)
    }
}
