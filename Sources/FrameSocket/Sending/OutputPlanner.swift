internal import FrameWire

/// Computes plans for one image, in whole chroma samples unless a size is given exactly.
struct OutputPlanner {
    let image: BufferSize
    /// The size of which widths and heights must be multiples.
    private let block: BufferSize

    init(_ image: BufferSize, _ block: BufferSize) {
        self.image = image
        self.block = block
    }

    /// Returns the image in proportion, no larger than the box and than its own size.
    func fit(_ box: BufferSize) -> OutputPlan {
        var plan = OutputPlan(image)
        let (width, height) = (image.width, image.height)
        if width <= box.width && height <= box.height {
            // Cropping a column is closer to the image than scaling it slightly.
            plan.scaled = BufferSize(width: Self.whole(width, block.width), height: Self.whole(height, block.height))
            plan.part = PixelRectangle(x: 0, y: 0, width: plan.scaled.width, height: plan.scaled.height)
        } else if isWider(thanShapeOf: box) {
            let limit = Self.whole(min(box.height, height), block.height)
            plan.scaled.width = Self.whole(box.width, block.width)
            plan.scaled.height = Self.nearest(height * plan.scaled.width, width, block.height, limit)
        } else {
            let limit = Self.whole(min(box.width, width), block.width)
            plan.scaled.height = Self.whole(box.height, block.height)
            plan.scaled.width = Self.nearest(width * plan.scaled.height, height, block.width, limit)
        }
        plan.canvas = plan.scaled
        return plan
    }

    /// Returns the image in proportion, centered in the box.
    func letterbox(_ box: BufferSize) -> OutputPlan {
        var plan = fit(box)
        plan.canvas = box
        return plan
    }

    /// Returns the center of the image, in the aspect ratio of the box.
    func fill(_ box: BufferSize) -> OutputPlan {
        var plan = OutputPlan(image)
        var canvas = box
        if image.width < box.width || image.height < box.height {
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
