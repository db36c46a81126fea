internal import FrameWire

/// Computes plans for one image, in whole chroma samples unless a size is given exactly.
struct OutputPlanner {
    let image: BufferSize
    /// The size of which widths and heights must be multiples.
    private let block: BufferSize
    /// Whether an image that is smaller than a box is scaled up to it.
    private let enlarges: Bool

    init(_ image: BufferSize, _ block: BufferSize, enlarges: Bool = false) {
        self.image = image
        self.block = block
        self.enlarges = enlarges
    }

    /// Returns the image in a box.
    func plan(_ mode: FrameDecoder.Viewport.Mode, _ box: BufferSize) -> OutputPlan {
        switch mode {
        case .fit: fit(box)
        case .letterbox: letterbox(box)
        case .fill: fill(box)
        case .stretch: stretch(box)
        }
    }

    /// Returns the image in proportion, no larger than the box and, unless it may be enlarged, than its own size.
    func fit(_ box: BufferSize) -> OutputPlan {
        var plan = inProportion(box, mayFill: false)
        plan.canvas = plan.scaled
        return plan
    }

    /// Returns the image in proportion, centered in the box.
    private func letterbox(_ box: BufferSize) -> OutputPlan {
        // A side without bars shares no chroma with one.
        var plan = inProportion(box, mayFill: true)
        plan.canvas = box
        return plan
    }

    /// Returns the image in proportion; if `mayFill`, its sides can be those of the box even if these are not whole
    /// chroma samples.
    private func inProportion(_ box: BufferSize, mayFill: Bool) -> OutputPlan {
        func whole(_ side: Int, _ step: Int, _ boxSide: Int) -> Int {
            mayFill && side == boxSide ? side : Self.whole(side, step)
        }
        func nearest(_ numerator: Int, _ denominator: Int, _ step: Int, _ side: Int, _ boxSide: Int) -> Int {
            let limit = enlarges ? boxSide : min(side, boxSide)
            if mayFill, Self.nearest(numerator, denominator, 1, limit) == boxSide { return boxSide }
            return Self.nearest(numerator, denominator, step, Self.whole(limit, step))
        }
        var plan = OutputPlan(image)
        let (width, height) = (image.width, image.height)
        if !enlarges && width <= box.width && height <= box.height {
            // Cropping a column is closer to the image than scaling it slightly.
            plan.scaled = BufferSize(
                width: whole(width, block.width, box.width),
                height: whole(height, block.height, box.height)
            )
            plan.part = PixelBuffer.Rectangle(x: 0, y: 0, width: plan.scaled.width, height: plan.scaled.height)
        } else if isWider(thanShapeOf: box) {
            plan.scaled.width = whole(box.width, block.width, box.width)
            plan.scaled.height = nearest(height * plan.scaled.width, width, block.height, height, box.height)
        } else {
            plan.scaled.height = whole(box.height, block.height, box.height)
            plan.scaled.width = nearest(width * plan.scaled.height, height, block.width, width, box.width)
        }
        return plan
    }

    /// Returns the center of the image, in the aspect ratio of the box.
    private func fill(_ box: BufferSize) -> OutputPlan {
        var plan = OutputPlan(image)
        var canvas = box
        if !enlarges && (image.width < box.width || image.height < box.height) {
            // The largest size with the box's aspect ratio that the image covers without scaling.
            let size =
                isWider(thanShapeOf: box)
                ? BufferSize(width: max(1, box.width * image.height / box.height), height: image.height)
                : BufferSize(width: image.width, height: max(1, box.height * image.width / box.width))
            canvas = BufferSize(
                width: Self.whole(size.width, block.width),
                height: Self.whole(size.height, block.height)
            )
        }
        if image.width * canvas.height > image.height * canvas.width {
            plan.part.width = max(1, image.height * canvas.width / canvas.height)
        } else {
            plan.part.height = max(1, image.width * canvas.height / canvas.width)
        }
        plan.part.x = OutputPlan.evenHalf(image.width - plan.part.width)
        plan.part.y = OutputPlan.evenHalf(image.height - plan.part.height)
        plan.scaled = canvas
        plan.canvas = canvas
        return plan
    }

    /// Returns the whole image in the size of the box, whatever its aspect ratio.
    private func stretch(_ box: BufferSize) -> OutputPlan {
        var plan = OutputPlan(image)
        plan.scaled = box
        plan.canvas = box
        return plan
    }

    /// Returns whether the box's width limits the image; a side of the box may be unbounded.
    private func isWider(thanShapeOf box: BufferSize) -> Bool {
        if box.width == .max { return false }
        return box.height == .max || image.width * box.height > image.height * box.width
    }

    /// Returns the largest multiple of `step` up to `side`; below one step `side` itself, because an image cannot be
    /// empty.
    private static func whole(_ side: Int, _ step: Int) -> Int {
        side < step ? side : side - side % step
    }

    /// Returns the multiple of `step` nearest to a fraction, from one step, or 1, to `limit`.
    private static func nearest(_ numerator: Int, _ denominator: Int, _ step: Int, _ limit: Int) -> Int {
        let rounded = (numerator + step * denominator / 2) / (step * denominator) * step
        return max(1, min(max(rounded, step), limit))
    }
}
