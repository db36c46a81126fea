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
        let format: PixelFormat?
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
