internal import FrameWire
internal import TurboJPEG

/// What may differ between two submitted images.
enum Damage: Sendable {
    case nothing
    case rows(ImageDamage)
    case everything

    mutating func add(_ other: Damage) {
        if case .everything = self { return }
        switch (self, other) {
        case (_, .nothing): break
        case (.rows(var region), .rows(let more)):
            // Nobody else has the rows while they are changed.
            self = .nothing
            region.formUnion(more)
            self = .rows(region)
        default: self = other
        }
    }

    var isNothing: Bool { if case .nothing = self { true } else { false } }
}

/// The damage that a program states: it counts from the image that was submitted before, whatever became of that.
struct StatedDamage: Sendable {
    /// What two images have in common if only their damage tells them apart.
    struct Subject: Sendable, Hashable {
        let size: BufferSize
        let format: PixelFormat
        let orientation: FrameOrientation
        /// How the image is copied when it is submitted; nil if it is not.
        let copy: Copy?
    }

    /// How an image is copied when it is submitted.
    struct Copy: Sendable, Hashable {
        let color: PixelBuffer.Color
        let output: OutputPlan
        let format: PixelFormat
    }

    private var subject: Subject?
    /// The number of images so far.
    private(set) var count: UInt64 = 0

    /// Takes in the next image, and returns what it may have changed.
    ///
    /// - Parameters:
    ///   - stated: What the program states; nil if anything may have changed.
    ///   - subject: What the image is; nil if it has no pixels. Not asked before there is any damage.
    /// - Returns: The damage.
    mutating func next(_ stated: ImageDamage?, _ subject: @autoclosure () -> Subject?) -> Damage {
        count += 1
        guard stated != nil || self.subject != nil else { return .everything }
        let (subject, old) = (subject(), self.subject)
        self.subject = subject
        guard let stated, subject != nil, subject == old else { return .everything }
        return stated.isEmpty ? .nothing : .rows(stated)
    }
}

/// An image that something was made of, which later ones may be made from: the strips, or the copies in shared buffers.
struct DamageBasis: Sendable {
    private var recipe: EncodingRecipe?
    /// What may have changed since.
    private var damage = Damage.everything
    /// What was there before the image that is being prepared.
    private var before: (recipe: EncodingRecipe?, damage: Damage)?

    mutating func add(_ damage: Damage) { self.damage.add(damage) }

    /// Begins to prepare the newest image.
    ///
    /// - Parameters:
    ///   - recipe: How it is prepared.
    ///   - later: What may have changed since that image was submitted.
    /// - Returns: The rows of the result that may differ from the one before; nil if any may.
    mutating func take(_ recipe: EncodingRecipe?, followedBy later: Damage) -> RowSet? {
        let isComparable = recipe.map { self.recipe?.preparesAlike($0) ?? false } ?? false
        let rows = isComparable ? recipe?.rows(damagedBy: damage) : nil
        before = (self.recipe, damage)
        (self.recipe, damage) = (recipe, later)
        return rows
    }

    /// The image has not been prepared after all.
    mutating func putBack() {
        guard let before = before.take() else { return }
        recipe = before.recipe
        damage.add(before.damage)
    }
}

extension StatedDamage.Subject {
    /// What submitted pixels are; nil if there are none.
    init?(_ content: FrameContent, _ orientation: FrameOrientation) {
        guard case .pixels(let pixels) = content else { return nil }
        self.init(size: pixels.size, format: pixels.format, orientation: orientation, copy: nil)
    }
}

extension EncodingRecipe {
    /// Returns whether equal parts of two images, each prepared by one of the recipes, become equal rows.
    ///
    /// The qualities may differ.
    func preparesAlike(_ other: EncodingRecipe) -> Bool {
        if self === other { return true }
        return input == other.input && image == other.image
            && settings.allowsStrips == other.settings.allowsStrips
    }

    /// Returns whether a receiver that has what one recipe made of an image lacks what another one makes of it.
    ///
    /// Without a recipe, a JPEG is sent as it is. Pixels have no quality.
    static func differ(_ old: EncodingRecipe?, _ new: EncodingRecipe?, isShared: Bool) -> Bool {
        guard let old, let new else { return (old == nil) != (new == nil) }
        if old === new { return false }
        if old.output != new.output || old.image.watermark != new.image.watermark
            || old.appliesOrientation != new.appliesOrientation
        {
            return true
        }
        return !isShared
            && (old.settings.quality != new.settings.quality || old.settings.subsampling != new.settings.subsampling)
    }

    /// Returns the rows of what is made of an image that may differ, if this may have changed in the submitted image.
    ///
    /// - Returns: The rows, in pairs; nil if any may differ.
    func rows(damagedBy damage: Damage) -> RowSet? {
        guard let input else { return nil }
        let plan: OutputPlan? = if case .scaled(let plan) = input.origin { plan } else { nil }
        let region: ImageDamage
        switch damage {
        case .nothing: region = ImageDamage(noneOf: plan?.image ?? input.size)
        case .rows(let rows): region = rows
        case .everything: return nil
        }
        let content = if let plan { region.applying(plan) } else { Optional(region) }
        guard let prepared = content?.applying(output) else { return nil }
        return appliesOrientation ? prepared.upright(from: input.orientation) : prepared.rows
    }
}
