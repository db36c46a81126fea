internal import FrameWire

/// Works out plans for one image, in whole chroma samples.
struct OutputPlanner {
    let picture: BufferSize
    /// What widths and heights are to be multiples of.
    private let block: BufferSize

    init(_ picture: BufferSize, _ block: BufferSize) {
        self.picture = picture
        self.block = block
    }

    /// The image in proportion, no larger than the box and than it is.
    func fit(_ box: BufferSize) -> OutputPlan {
        var plan = OutputPlan(picture)
        let (width, height) = (picture.width, picture.height)
        if width <= box.width && height <= box.height {
            // A column less is nearer to the image than one that is scaled by a hair.
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

    /// The image in proportion, in the middle of the box.
    func letterbox(_ box: BufferSize) -> OutputPlan {
        var plan = fit(box)
        plan.canvas = BufferSize(
            width: Self.whole(box.width, block.width),
            height: Self.whole(box.height, block.height)
        )
        return plan
    }

    /// The middle of the image in the shape of the box.
    func fill(_ box: BufferSize) -> OutputPlan {
        var plan = OutputPlan(picture)
        var size = box
        if picture.width < box.width || picture.height < box.height {
            // The largest of the box's shape that the image covers as it is.
            size =
                isWider(thanShapeOf: box)
                ? BufferSize(width: max(1, box.width * picture.height / box.height), height: picture.height)
                : BufferSize(width: picture.width, height: max(1, box.height * picture.width / box.width))
        }
        let canvas = BufferSize(
            width: Self.whole(size.width, block.width),
            height: Self.whole(size.height, block.height)
        )
        if picture.width * canvas.height > picture.height * canvas.width {
            plan.part.width = max(1, picture.height * canvas.width / canvas.height)
        } else {
            plan.part.height = max(1, picture.width * canvas.height / canvas.width)
        }
        plan.part.x = OutputPlan.evenHalf(picture.width - plan.part.width)
        plan.part.y = OutputPlan.evenHalf(picture.height - plan.part.height)
        plan.scaled = canvas
        plan.canvas = canvas
        return plan
    }

    /// Whether the box's width is what limits the image; a side of the box may be open.
    private func isWider(thanShapeOf box: BufferSize) -> Bool {
        if box.width == .max { return false }
        return box.height == .max || picture.width * box.height > picture.height * box.width
    }

    /// The largest multiple of `step` up to `side`; below one step the side itself, for an image cannot be empty.
    private static func whole(_ side: Int, _ step: Int) -> Int {
        side < step ? side : side - side % step
    }

    /// The multiple of `step` nearest to a fraction, from one step, or 1, to `limit`.
    private static func nearest(_ numerator: Int, _ denominator: Int, _ step: Int, _ limit: Int) -> Int {
        let rounded = (numerator + step * denominator / 2) / (step * denominator) * step
        return max(1, min(max(rounded, step), limit))
    }
}
