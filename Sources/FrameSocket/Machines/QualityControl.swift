internal import FrameTransport

/// The quality of the next JPEG, and the time before which none is made, so that what is sent stays within a number of
/// bytes a second: the program's and the receiver's maximum, and what the receiver takes.
///
/// Does nothing unless the configuration has an ``SampleUploader/Configuration/Adaptation``. Times are in nanoseconds.
struct QualityControl: Sendable {
    private let shortestBody: Int
    private var adaptation: SampleUploader.Configuration.Adaptation?
    private var maximumQuality = 80

    /// The quality of images that change.
    private(set) var level = 80

    /// When no higher level was possible last.
    private var boundAt: UInt64 = 0

    /// The size that the latest image has at ``JPEGSize/reference``; 0 before the first.
    private var size = 0.0

    /// The quality of the latest image, and whether little of it differed from the image before, which is assumed until it is
    /// known: the first image shows nothing, and the second shall not be blurred for it.
    private var latest = (quality: 0, changesLittle: true)

    private var budget = ByteBudget()
    private var link = LinkRate()

    /// The bytes that the image being encoded is expected to have, and since when.
    private var reserved: (byteCount: Double, at: UInt64)?

    /// How long the way to a higher quality must have been clear, in nanoseconds.
    private static let patience: UInt64 = 1_000_000_000

    /// The smallest rise of the level.
    private static let smallestRise = 5

    /// How long an image has not changed when it is sent again at the maximum quality, in nanoseconds.
    private static let stillness: UInt64 = 200_000_000

    /// A shorter delay is not noticed, in nanoseconds.
    private static let shortestDelay: UInt64 = 20_000_000

    /// The largest part of an image that is little.
    private static let smallPart = 0.25

    /// - Parameters:
    ///   - configuration: The configuration in force.
    ///   - shortestBody: The bytes to which the connection pads shorter bodies, for existing Jitsi receivers.
    init(_ configuration: SampleUploader.Configuration, shortestBody: Int = 0) {
        (self.shortestBody, adaptation) = (shortestBody, configuration.adaptation)
        // The first images are as they would be without adaptation.
        (maximumQuality, level) = (configuration.quality, configuration.quality)
        budget.follow(adaptation?.byteRate, at: 0)
    }

    @inline(__always)
    var isActive: Bool { adaptation != nil }

    // MARK: The configuration and the receiver

    mutating func follow(_ configuration: SampleUploader.Configuration, at now: UInt64) {
        guard isActive, let new = configuration.adaptation else {
            self = Self(configuration, shortestBody: shortestBody)
            return
        }
        (adaptation, maximumQuality) = (new, configuration.quality)
        level = min(max(level, minimumQuality), maximumQuality)
        guard new.byteRate != budget.rate else { return }
        budget.follow(new.byteRate, at: now)
        becomeBetterAtOnce()
    }

    /// Begins again with a new receiver, of which nothing is known yet.
    ///
    /// The bytes of the last seconds count on.
    mutating func connect() {
        (link, reserved) = (LinkRate(), nil)
        becomeBetterAtOnce()
    }

    /// Lets the next image have the highest quality that is possible: what kept it low is gone, and may have been all.
    private mutating func becomeBetterAtOnce() { boundAt = 0 }

    private var minimumQuality: Int { min(adaptation?.minimumQuality ?? 1, maximumQuality) }

    // MARK: The next image

    /// Returns the time before which no image is encoded or sent; nil if one may be now.
    ///
    /// - Parameters:
    ///   - byteCount: The size of a JPEG that is there; nil for an image that is to be encoded.
    ///   - now: The time.
    /// - Returns: The time, or nil.
    func holdEnd(for byteCount: Int? = nil, at now: UInt64) -> UInt64? {
        guard isActive else { return nil }
        var end = time(for: byteCount.map(Double.init) ?? size * JPEGSize.ratio(level), after: now)
        if let (byteCount, at) = reserved {
            end = max(end, at.addingClamping(max(budget.duration(of: byteCount), link.duration(of: byteCount))))
        }
        return end > now ? end : nil
    }

    /// Returns the time from which the latest image, which was sent at less than the maximum quality and has not changed for
    /// some time, is sent again at that.
    func sharpeningTime(changedAt: UInt64, at now: UInt64) -> UInt64 {
        max(changedAt.addingClamping(Self.stillness), time(for: size * JPEGSize.ratio(maximumQuality), after: now))
    }

    /// The time from which there is room for a JPEG of some size.
    private func time(for byteCount: Double, after now: UInt64) -> UInt64 {
        max(budget.time(for: messageByteCount(byteCount), after: now), link.freeAt)
    }

    /// Returns the bytes of the message with a JPEG of some size, about.
    private func messageByteCount(_ byteCount: Double) -> Double { max(byteCount, Double(shortestBody)) + 300 }

    /// Chooses the quality of an image that is about to be encoded, of a source with some interval between its frames.
    mutating func begin(sharpening: Bool, interval: UInt64, at now: UInt64) -> Int {
        if !sharpening {
            let (target, possible) = possible(interval)
            // A tenth too much is made up for by the next frames.
            if possible < level, JPEGSize.ratio(level) * size > 1.1 * target { level = possible }
            let isHigher = possible > level && possible >= min(level + Self.smallestRise, maximumQuality)
            if isHigher, now >= boundAt.addingClamping(Self.patience) { level = possible }
            if !isHigher || level == possible { boundAt = now }
        }
        let quality = sharpening ? maximumQuality : level
        reserved = (size * JPEGSize.ratio(quality), now)
        return quality
    }

    /// The bytes of a frame that takes no longer than the next one may take to come, and the quality for that.
    private func possible(_ interval: UInt64) -> (byteCount: Double, quality: Int) {
        let longest = adaptation?.longestInterval(changesLittle: latest.changesLittle) ?? 0
        let rate = min(link.rate ?? .infinity, budget.rate ?? .infinity)
        let target = rate * ByteBudget.usage * Double(max(min(interval, 200_000_000), longest))
        return (target, JPEGSize.quality(for: target, size, in: minimumQuality...maximumQuality))
    }

    /// Returns why a frame that is held back is late, if that is a difficulty: the receiver takes less than the maximum, or
    /// the quality is at its lowest already.
    func difficulty(for byteCount: Int?, interval: UInt64, at now: UInt64) -> SampleUploader.Conditions? {
        guard let end = holdEnd(for: byteCount, at: now), end >= now.addingClamping(Self.shortestDelay) else {
            return nil
        }
        if let rate = link.rate, rate < budget.rate ?? .infinity { return .receiverSlow }
        // The next image may be a long time off, because the one before it was large.
        return min(level, possible(interval).quality) == minimumQuality ? .budgetLow : nil
    }

    // MARK: What is sent

    /// Takes in an image that has been encoded.
    ///
    /// If there is no room for it, the quality falls, so that the next one has room.
    ///
    /// - Parameters:
    ///   - byteCount: Its size.
    ///   - quality: Its quality; above ``level`` if it is sent for that.
    ///   - changedPart: How much of it was encoded anew, from 0 to 1; nil if it is always all.
    ///   - now: The time.
    /// - Returns: Whether there is room.
    mutating func encoded(_ byteCount: Int, quality: Int, changedPart: Double? = nil, at now: UInt64) -> Bool {
        size = Double(byteCount) / JPEGSize.ratio(quality)
        // In another quality all of it is new, which says nothing about what has changed.
        if quality == latest.quality || changedPart == nil {
            latest.changesLittle = changedPart.map { $0 <= Self.smallPart } ?? false
        }
        latest.quality = quality
        guard budget.time(for: messageByteCount(Double(byteCount)), after: now) > now else { return true }
        guard quality <= level else { return false }
        level = min(level, JPEGSize.quality(for: budget.room(at: now), size, in: minimumQuality...maximumQuality))
        boundAt = now
        return false
    }

    /// Notes that no image is being encoded any longer.
    mutating func ended() { reserved = nil }

    /// Notes that a message with so many bytes is sent.
    mutating func submitted(_ byteCount: Int, at now: UInt64) {
        guard isActive else { return }
        let byteCount = messageByteCount(Double(byteCount))
        budget.spend(byteCount, at: now)
        link.submitted(byteCount, at: now)
    }

    /// Notes that the system has accepted all of it.
    mutating func sent(_ byteCount: Int, beganAt: UInt64, at now: UInt64) {
        guard isActive else { return }
        let message = Int(messageByteCount(Double(byteCount)))
        link.sent(byteCount, of: message, in: now.subtractingClamping(beganAt))
    }

    /// Notes how many bytes the receiver has not read yet, if the system tells.
    mutating func sample(unread: Int?, at now: UInt64) {
        guard isActive, let unread else { return }
        link.sample(unread: unread, at: now)
    }
}

/// How the size of a JPEG depends on its quality.
enum JPEGSize {
    /// The quality whose sizes the others are compared with.
    static let reference = 80

    /// The sizes at some qualities, compared with that at 80: the means of this package's pictures of screens.
    ///
    /// Those of photographs fall faster.
    private static let ratios: [(quality: Int, ratio: Double)] = [
        (1, 0.25), (10, 0.35), (20, 0.46), (30, 0.55), (40, 0.62), (50, 0.68), (60, 0.75), (70, 0.86), (80, 1),
        (85, 1.11),
        (90, 1.3), (95, 1.67), (98, 2.13), (100, 2.7),
    ]

    /// Returns the expected size at a quality, compared with that at 80.
    static func ratio(_ quality: Int) -> Double {
        guard let upper = ratios.firstIndex(where: { $0.quality >= quality }), upper > 0 else { return ratios[0].ratio }
        let (low, high) = (ratios[upper - 1], ratios[upper])
        let part = Double(quality - low.quality) / Double(high.quality - low.quality)
        return low.ratio + part * (high.ratio - low.ratio)
    }

    /// Returns the highest quality in a range at which an image, of a size at 80, is expected to have at most so many bytes.
    static func quality(for byteCount: Double, _ size: Double, in range: ClosedRange<Int>) -> Int {
        var quality = range.upperBound
        while quality > range.lowerBound, size * ratio(quality) > byteCount { quality -= 1 }
        return quality
    }
}
