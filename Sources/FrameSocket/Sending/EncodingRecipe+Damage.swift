internal import FrameWire
package import TurboJPEG

extension EncodingRecipe {
    /// Returns whether equal parts of two images, each prepared by one of the recipes, become equal rows.
    ///
    /// The qualities may differ.
    func preparesAlike(_ other: EncodingRecipe) -> Bool {
        if self === other { return true }
        return input == other.input && image.output == other.image.output && image.format == other.image.format
            && image.appliesOrientation == other.image.appliesOrientation && image.watermark == other.image.watermark
    }

    /// Returns the rows of what is made of an image that may differ, if these rows of the submitted image may.
    ///
    /// - Returns: The rows, in pairs; nil if any may differ.
    func rows(damagedBy region: ImageDamage) -> RowSet? {
        guard let input else { return nil }
        let content = if case .scaled(let plan) = input.origin { region.applying(plan) } else { Optional(region) }
        guard let prepared = content?.applying(output) else { return nil }
        return appliesOrientation ? prepared.upright(from: input.orientation) : prepared.rows
    }
}

extension EncodingJob.Damage {
    /// Returns the rows of what a recipe makes of the image that may differ.
    package func rows(of recipe: EncodingRecipe?) -> RowDamage {
        RowDamage(image: job, base: base, rows: region.flatMap { recipe?.rows(damagedBy: $0) })
    }
}
