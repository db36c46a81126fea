internal import FrameSocket
internal import FrameWire
internal import TurboJPEG

/// The damage that some programs state, and what becomes of it.
extension World {
    /// Returns what a frame changes of the image submitted before; nil if the program does not say, or there is none.
    ///
    /// - Parameters:
    ///   - sender: The sender.
    ///   - number: The number of the frame.
    ///   - isWhole: Whether the image is submitted as it is; the rows of one that is scaled here are others.
    /// - Returns: The damage, which may be too large.
    func damage(of sender: SimSender, _ number: UInt32, isWhole: Bool = true) -> ImageDamage? {
        let offer = sender.offers[Int(number) - 1]
        defer { sender.statedImage = offer.isImage ? number : nil }
        guard offer.isImage, sender.damaging.chance(sender.statesDamage ? 90 : 0) else { return nil }
        coverage.count(.damage)
        let all = [PixelBuffer.Rectangle(x: 0, y: 0, width: .max, height: .max)]
        guard let last = sender.statedImage, isWhole else { return ImageDamage(all, of: offer.size) }
        var rows = changedRows(of: sender, last, number)
        if sender.damaging.chance(20) { rows?.insert(sender.damaging.below(offer.size.height)) }
        let rectangles = rows?.map { PixelBuffer.Rectangle(x: -1, y: $0, width: .max, height: 1) }
        return ImageDamage(rectangles ?? all, of: offer.size)
    }

    /// Returns the rows in which two submitted images of the same size differ; nil if in any.
    private func changedRows(of sender: SimSender, _ first: UInt32, _ second: UInt32) -> Set<Int>? {
        guard first != second else { return [] }
        let (old, new) = (sender.offers[Int(first) - 1], sender.offers[Int(second) - 1])
        // As a program that does not share memory sees it, equal images are equal: their numbers do not count.
        let isNumbered = sender.plan.sharesMemory || sender.sharesMemory
        if !isNumbered, old.content == new.content { return [] }
        guard old.size == new.size else { return nil }
        return ImageContent.changedRows(
            from: (isNumbered ? first : 0, old.content),
            to: (isNumbered ? second : 0, new.content),
            of: new.size
        )
    }

    /// Every change since the image that was prepared last is in the damage of a job.
    ///
    /// The rows of an image that is scaled or rotated here are others.
    func checkDamage(of job: EncodingJob, _ number: UInt32, _ sender: SimSender) {
        let offer = sender.offers[Int(number) - 1]
        guard let damaged = job.rows, let base = sender.prepared[job.place != nil],
            job.recipe?.output.canvas == offer.size, job.recipe?.appliesOrientation != true
        else { return }
        coverage.count(.damagedJob)
        let isComparable =
            sender.offers[Int(base) - 1].size == offer.size
            && sender.offers[Int(base) - 1].orientation == offer.orientation
        let rows = changedRows(of: sender, base, number) ?? Set(0..<offer.size.height)
        check(
            .damageIsWhole,
            isComparable && rows.allSatisfy { damaged.contains($0) },
            "uploader \(sender.index): a change from frame \(base) to \(number) is not in the damage"
        )
    }

    /// Returns the rows of the image that a job copies; the rows of one that is scaled or rotated here are others.
    func damagedRows(of job: EncodingJob, isWhole: Bool) -> RowSet? {
        guard isWhole, job.recipe?.appliesOrientation != true else { return nil }
        if job.rows != nil { coverage.count(.damagedCopy) }
        return job.rows
    }
}
