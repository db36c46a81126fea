internal import FrameWire
internal import TurboJPEG

/// What may have changed since an uploader prepared an image last, as its program states it.
///
/// The damage of every submitted image counts, whatever became of the image: dropped, held back, replaced, or refused. An
/// image that is prepared out of turn, such as one that is sent again, is prepared as a whole.
struct DamageLog: Sendable {
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

    /// An image that has been prepared, and what may have changed since; nil if anything.
    private struct Last: Sendable {
        var job: UInt64 = 0
        var ticket: UInt64 = 0
        var recipe: EncodingRecipe?
        var damage: ImageDamage?
    }

    private var last = Last()
    /// The image before the one in progress, and what had changed when that was begun.
    private var previous: Last?
    private var lastJob: UInt64 = 0

    /// What the submitted images are; nil before the first damage, and after something that has none.
    private var subject: Subject?
    /// Whether the program has stated any damage: if it never does, nothing is kept.
    private(set) var isUsed = false
    /// The number of submitted images so far, since the first damage.
    private(set) var count: UInt64 = 0
    /// The value of ``count`` when the newest ticket was taken.
    private var countAtNewest: UInt64 = 0
    /// The ticket of the newest frame that may differ from the frame before it.
    private(set) var newestChange: UInt64 = 0

    // MARK: Submitted images

    /// Adds the damage of the next image; not to be called before there is any.
    ///
    /// - Parameters:
    ///   - damage: What may have changed; nil if anything.
    ///   - subject: What the image is; nil if it has no pixels.
    ///   - next: The ticket that the next frame gets.
    mutating func add(_ damage: ImageDamage?, _ subject: Subject?, before next: UInt64) {
        isUsed = true
        count += 1
        let isComparable = subject != nil && subject == self.subject
        self.subject = subject
        guard isComparable, let damage else {
            last.damage = nil
            newestChange = next
            return
        }
        last.damage?.formUnion(damage)
        if !damage.isEmpty { newestChange = next }
    }

    /// Notes that a frame is the newest, and shows the last image that was added.
    ///
    /// - Parameters:
    ///   - ticket: The frame's ticket.
    ///   - entry: The value of ``count`` after its image was added, if that was long ago: one that was added since, by
    ///     another thread, may be older or newer.
    mutating func takeTicket(_ ticket: UInt64, entry: UInt64?) {
        if let entry, entry != count { add(nil, nil, before: ticket) }
        countAtNewest = count
    }

    /// Returns whether a frame is known to show the same as an older one.
    func isUnchanged(_ ticket: UInt64, since older: UInt64) -> Bool {
        newestChange <= older && older <= ticket
    }

    // MARK: Prepared images

    /// Begins to prepare an image.
    ///
    /// - Parameters:
    ///   - ticket: The ticket of the frame.
    ///   - recipe: How its image is prepared.
    ///   - newest: The newest ticket.
    ///   - isRepeat: Whether the frame was sent before.
    /// - Returns: What may have changed since the image that was prepared last.
    mutating func begin(
        _ ticket: UInt64,
        _ recipe: EncodingRecipe?,
        newest: UInt64,
        isRepeat: Bool
    ) -> EncodingJob.Damage {
        lastJob += 1
        previous = last
        let isInTurn = ticket >= last.ticket
        let isComparable = isInTurn && !isRepeat && recipe.map { last.recipe?.preparesAlike($0) ?? false } ?? false
        let damage = EncodingJob.Damage(job: lastJob, base: last.job, region: isComparable ? last.damage : nil)
        (last.job, last.ticket, last.recipe) = (lastJob, ticket, recipe)
        if ticket == newest, count == countAtNewest {
            last.damage = subject.map { ImageDamage(noneOf: $0.size) }
        } else if !isInTurn {
            last.damage = nil
        }
        return damage
    }

    /// Notes that the image in progress has been prepared.
    mutating func finish() { previous = nil }

    /// Notes that the image in progress has not been prepared: what changed until it was begun has still to be.
    mutating func takeBack() {
        guard var previous = previous.take() else { return }
        if let damage = last.damage { previous.damage?.formUnion(damage) } else { previous.damage = nil }
        last = previous
    }
}

extension DamageLog.Subject {
    /// The subject of an image that is copied when it is submitted.
    init(
        copying image: borrowing PixelBuffer,
        _ color: PixelBuffer.Color,
        _ orientation: FrameOrientation,
        _ recipe: EncodingRecipe
    ) {
        size = image.size
        (format, self.orientation) = (image.format, orientation)
        copy = DamageLog.Copy(color: color, output: recipe.output, format: recipe.image.format)
    }
}

extension UploadFrame {
    /// What the submitted pixels are; nil if there are none.
    var subject: DamageLog.Subject? {
        guard case .pixels(let pixels) = content else { return nil }
        return DamageLog.Subject(size: pixels.size, format: pixels.format, orientation: orientation, copy: nil)
    }
}
