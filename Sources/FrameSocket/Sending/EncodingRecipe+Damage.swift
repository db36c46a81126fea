internal import FrameWire
package import TurboJPEG

extension EncodingRecipe {
    /// Returns whether equal parts of two images, each prepared by one of the recipes, become equal rows.
    ///
    /// The qualities may differ, and the watermarks.
    func preparesAlike(_ other: EncodingRecipe) -> Bool {
        if self === other { return true }
        return input == other.input && image.output == other.image.output && image.format == other.image.format
            && image.appliesOrientation == other.image.appliesOrientation
    }

    /// Returns the rows of what is made of an image that may differ, if this part of the submitted image may.
    ///
    /// - Returns: The rows, in pairs; nil if any may differ.
    func rows(damagedBy region: ImageDamage) -> RowSet? {
        guard let input, let prepared = contentDamage(by: region)?.applying(output) else { return nil }
        return appliesOrientation ? prepared.upright(from: input.orientation).rows : prepared.rows
    }

    /// Returns the damage of the content, which may be a copy of the submitted image; nil if any part may differ.
    func contentDamage(by region: ImageDamage) -> ImageDamage? {
        switch input?.origin {
        case .submitted: region
        case .scaled(let plan): region.applying(plan)
        case nil: nil
        }
    }
}

extension EncodingJob.Damage {
    /// Returns the rows of what a recipe makes of the image that may differ.
    package func rows(of recipe: EncodingRecipe?) -> RowDamage {
        RowDamage(image: job, base: base, rows: region.flatMap { recipe?.rows(damagedBy: $0) })
    }
}
