internal import FrameWire
internal import TurboJPEG

extension OutputPlan {
    /// Returns the factor for decoding a JPEG by this plan, and the plan for the decoded image.
    ///
    /// The factor is the smallest that requires no enlargement; of those that the library offers, only powers of two
    /// are cheaper than full size.
    func scaledDecoding() -> (factor: JPEGDecoder.ScalingFactor, plan: OutputPlan) {
        for factor in [JPEGDecoder.ScalingFactor.eighth, .quarter, .half] {
            let plan = decoded(by: factor)
            if plan.part.width >= scaled.width, plan.part.height >= scaled.height { return (factor, plan) }
        }
        return (.full, self)
    }

    private func decoded(by factor: JPEGDecoder.ScalingFactor) -> OutputPlan {
        let decoded = factor.scaled(width: image.width, height: image.height)
        var plan = OutputPlan(BufferSize(width: decoded.width, height: decoded.height))
        let divisor = factor.denominator
        plan.part = PixelBuffer.Rectangle(
            x: part.x / (2 * divisor) * 2,
            y: part.y / (2 * divisor) * 2,
            width: part.width / divisor,
            height: part.height / divisor
        )
        plan.scaled = scaled
        plan.canvas = canvas
        return plan.placed(as: self)
    }
}
