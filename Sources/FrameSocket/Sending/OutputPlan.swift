package import FrameWire

/// How an image is prepared for encoding: a part of it is scaled and placed on a canvas.
package struct OutputPlan: Sendable, Hashable {
    /// The size of the submitted image.
    package let image: BufferSize

    /// The part of the image that is sent.
    package internal(set) var part: PixelRectangle

    /// The size that the part is scaled to.
    package internal(set) var scaled: BufferSize

    /// The size of what is sent.
    ///
    /// If it is larger than ``scaled``, the rest is black.
    package internal(set) var canvas: BufferSize

    /// Creates a plan that leaves the image unchanged.
    package init(_ image: BufferSize) {
        self.image = image
        part = PixelRectangle(x: 0, y: 0, width: image.width, height: image.height)
        scaled = image
        canvas = image
    }

    /// The position of the scaled part on the canvas: centered, at even coordinates.
    package var place: PixelRectangle {
        PixelRectangle(
            x: Self.evenHalf(canvas.width - scaled.width),
            y: Self.evenHalf(canvas.height - scaled.height),
            width: scaled.width,
            height: scaled.height
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
        plan.part = PixelRectangle(x: 0, y: 0, width: whole(image.width), height: whole(image.height))
        plan.scaled = BufferSize(width: scaled(image.width), height: scaled(image.height))
        plan.canvas = plan.scaled
        return plan
    }

    /// Converts between the plan for the buffer and the plan for the upright image.
    func turned(by orientation: FrameOrientation) -> OutputPlan {
        guard orientation.swapsAxes else { return self }
        var plan = OutputPlan(image.turned(by: orientation))
        plan.part = PixelRectangle(x: part.y, y: part.x, width: part.height, height: part.width)
        plan.scaled = scaled.turned(by: orientation)
        plan.canvas = canvas.turned(by: orientation)
        return plan
    }
}
