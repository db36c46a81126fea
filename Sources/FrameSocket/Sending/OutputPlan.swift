package import FrameWire
internal import TurboJPEG

/// How an image is prepared for encoding: a part of it is scaled and placed on a canvas.
package struct OutputPlan: Sendable, Hashable {
    /// The size of the submitted image.
    package private(set) var image: BufferSize

    /// The part of the image that is sent.
    package internal(set) var part: PixelBuffer.Rectangle

    /// The size that the part is scaled to.
    package internal(set) var scaled: BufferSize

    /// The size of what is sent.
    ///
    /// If it is larger than ``scaled``, the rest is black.
    package internal(set) var canvas: BufferSize

    /// Whether the place is counted from the canvas's right side, because the image is flipped in this direction before
    /// it is encoded.
    private(set) var isPlacedFromRight = false

    /// Whether the place is counted from the canvas's bottom.
    private(set) var isPlacedFromBottom = false

    /// Creates a plan that leaves the image unchanged.
    package init(_ image: BufferSize) {
        self.image = image
        part = PixelBuffer.Rectangle(x: 0, y: 0, width: image.width, height: image.height)
        scaled = image
        canvas = image
    }

    /// The position of the scaled part on the canvas: centered, at even coordinates of the image that is encoded.
    package var place: PixelBuffer.Rectangle { place(dividedBy: 1) }

    /// Returns the position in a plane with one sample per block of `factor` pixels, 1 or 2.
    ///
    /// It is not that in pixels divided: on an odd canvas, an even distance from the end is an odd one from the
    /// beginning.
    package func place(dividedBy factor: Int) -> PixelBuffer.Rectangle {
        func samples(_ side: Int) -> Int { (side + factor - 1) / factor }
        func start(_ canvas: Int, _ scaled: Int, fromEnd: Bool) -> Int {
            let distance = Self.evenHalf(canvas - scaled) / factor
            return fromEnd ? samples(canvas) - samples(scaled) - distance : distance
        }
        return PixelBuffer.Rectangle(
            x: start(canvas.width, scaled.width, fromEnd: isPlacedFromRight),
            y: start(canvas.height, scaled.height, fromEnd: isPlacedFromBottom),
            width: samples(scaled.width),
            height: samples(scaled.height)
        )
    }

    /// Whether the image is sent unchanged.
    package var isIdentity: Bool { self == OutputPlan(image) }

    /// Half of `space`, rounded down to an even number: chroma is shared by two pixels.
    static func evenHalf(_ space: Int) -> Int {
        space / 4 * 2
    }

    /// Returns the plan for a fraction of the image.
    ///
    /// For an integer divisor the part is the largest that it divides, so that every pixel covers the same number of
    /// pixels: an odd column at the edge is left out, as Jitsi's senders do, and the fast scaler applies.
    static func fraction(of image: BufferSize, _ numerator: Int, _ denominator: Int) -> OutputPlan {
        guard numerator > 0, numerator < denominator else { return OutputPlan(image) }
        func scaled(_ side: Int) -> Int {
            // In full width: the terms of a fraction may be anything.
            let (quotient, _) = denominator.dividingFullWidth(side.multipliedFullWidth(by: numerator))
            return max(1, quotient)
        }
        func whole(_ side: Int) -> Int {
            numerator > 1 || side < denominator ? side : side - side % denominator
        }
        var plan = OutputPlan(image)
        plan.part = PixelBuffer.Rectangle(x: 0, y: 0, width: whole(image.width), height: whole(image.height))
        plan.scaled = BufferSize(width: scaled(image.width), height: scaled(image.height))
        plan.canvas = plan.scaled
        return plan
    }

    /// Returns the plan that makes of an image scaled by another plan what this one makes of the whole; nil if the other
    /// one has lost what that needs, or nothing is to be done.
    func afterScaling(by other: OutputPlan) -> OutputPlan? {
        // Bars are not cut off again.
        guard other.canvas == other.scaled, self != other else { return nil }
        func side(_ length: Int, _ scaled: Int, _ whole: Int) -> Int { length * scaled / max(1, whole) }
        var plan = self
        plan.image = other.canvas
        let (x, y) = (max(0, part.x - other.part.x), max(0, part.y - other.part.y))
        plan.part.x = Self.evenHalf(2 * side(x, other.scaled.width, other.part.width))
        plan.part.y = Self.evenHalf(2 * side(y, other.scaled.height, other.part.height))
        let width = side(part.width, other.scaled.width, other.part.width)
        let height = side(part.height, other.scaled.height, other.part.height)
        plan.part.width = min(width, other.scaled.width - plan.part.x)
        plan.part.height = min(height, other.scaled.height - plan.part.y)
        return plan.part.width >= scaled.width && plan.part.height >= scaled.height ? plan : nil
    }

    /// Converts between the plan for the buffer and the plan for the upright image.
    func oriented(by orientation: FrameOrientation) -> OutputPlan {
        guard orientation.swapsAxes else { return self }
        var plan = OutputPlan(image.oriented(by: orientation))
        plan.part = PixelBuffer.Rectangle(x: part.y, y: part.x, width: part.height, height: part.width)
        plan.scaled = scaled.oriented(by: orientation)
        plan.canvas = canvas.oriented(by: orientation)
        return plan
    }

    /// Returns the plan with the place chosen for the image as it is after its rotation.
    func placed(forRotationFrom orientation: FrameOrientation) -> OutputPlan {
        // Without bars there is only one place, and the plan may be that of an unchanged image.
        guard canvas != scaled else { return self }
        var plan = self
        plan.isPlacedFromRight = orientation.reversesColumns
        plan.isPlacedFromBottom = orientation.reversesRows
        return plan
    }
}

/// Decoding at the size that is needed.
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
        var plan = self
        plan.image = BufferSize(width: decoded.width, height: decoded.height)
        let divisor = factor.denominator
        plan.part = PixelBuffer.Rectangle(
            x: part.x / (2 * divisor) * 2,
            y: part.y / (2 * divisor) * 2,
            width: part.width / divisor,
            height: part.height / divisor
        )
        return plan
    }
}
