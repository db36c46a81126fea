internal import FrameTransport

/// The quality of the next JPEG, and the time before which none is made, so that what is sent stays within a number of
/// bytes a second: the program's and the receiver's maximum, and what the receiver takes.
///
/// Does nothing unless the configuration has an ``SampleUploader/Configuration/Adaptation``. Times are in nanoseconds.
struct QualityControl: Sendable {
    typealias Adaptation = SampleUploader.Configuration.Adaptation

    private let shortestBody: Int
    private var adaptation: Adaptation?
    private var maximumQuality = 80

    /// The quality of images that change.
    private(set) var level = 80

    /// The time since which a higher level has been possible.
    private var higherSince: UInt64?

    /// The size that the latest image has at ``JPEGSize/reference``; nil before the first.
    private var size: Double?

    private var window = ByteWindow()

    /// The bytes that were sent beyond what the maximum has allowed by a time.
    ///
    /// How long they take depends on the maximum in force when that is asked.
    private var debt = (byteCount: 0.0, at: UInt64(0))

    /// The bytes that the image being encoded is expected to have, and since when.
    private var reserved: (byteCount: Double, at: UInt64)?

    /// The time by which this receiver will have taken what was sent to it.
    private var takenAt: UInt64 = 0

    private var link = LinkRate()

    /// How much of a rate is used, so that a frame that is larger than expected can be made up for.
    private static let usage = 0.95

    /// How long the way to a higher quality must have been clear, in nanoseconds.
    private static let patience: UInt64 = 1_000_000_000

    /// The smallest rise of the level.
    private static let smallestRise = 5

    /// How long an image has not changed when it is sent again at the maximum quality, in nanoseconds.
    static let stillness: UInt64 = 200_000_000

    /// - Parameters:
    ///   - configuration: The configuration in force.
    ///   - shortestBody: The bytes to which the connection pads shorter bodies, for existing Jitsi receivers.
    init(_ configuration: SampleUploader.Configuration, shortestBody: Int = 0) {
        self.init(shortestBody: shortestBody)
        follow(configuration, at: 0)
    }

    private init(shortestBody: Int) { self.shortestBody = shortestBody }

    @inline(__always)
    var isActive: Bool { adaptation != nil }

    // MARK: The configuration and the receiver

    mutating func follow(_ configuration: SampleUploader.Configuration, at now: UInt64) {
        let (wasActive, oldMaximum, before) = (isActive, adaptation?.maximumByteRate, owed(at: now))
        (adaptation, maximumQuality) = (configuration.adaptation, configuration.quality)
        // The first images are as they would be without adaptation.
        level = wasActive ? min(max(level, minimumQuality), maximumQuality) : maximumQuality
        guard isActive else { return self = QualityControl(shortestBody: shortestBody) }
        guard adaptation?.maximumByteRate != oldMaximum else { return }
        // What was too much for the old maximum is made up for in two seconds at most.
        debt = (min(before, (maximumRate ?? 0) * Double(ByteWindow.length)), now)
        becomeBetterAtOnce()
    }

    /// Begins again with a new receiver, of which nothing is known yet.
    ///
    /// The bytes of the last seconds count on.
    mutating func connect() {
        (link, reserved, takenAt) = (LinkRate(), nil, 0)
        becomeBetterAtOnce()
    }

    /// Lets the next image have the highest quality that is possible: what kept it low is gone, and may have been all.
    private mutating func becomeBetterAtOnce() { higherSince = 0 }

    private var minimumQuality: Int { min(adaptation?.minimumQuality ?? 1, maximumQuality) }

    /// The maximum in bytes a nanosecond; nil if there is none.
    private var maximumRate: Double? { adaptation?.maximumByteRate.map { Double($0) / 1e9 } }

    /// The rate in effect in bytes a nanosecond; nil for no limit.
    private var rate: Double? {
        guard let measured = link.rate else { return maximumRate }
        return min(measured, maximumRate ?? .infinity)
    }

    /// The most bytes in a ``ByteWindow``: 4.5 % more than the rate.
    private var windowLimit: Int? {
        adaptation?.maximumByteRate.map { Int(min(Double($0) * Double(ByteWindow.length) / 1e9 * 1.045, 1e18)) }
    }

    /// Returns the bytes of the message with a JPEG of some size, about.
    private func messageByteCount(_ byteCount: Int) -> Int { max(byteCount, shortestBody) + 300 }

    // MARK: The next image

    /// Returns the time before which no image is encoded or sent; nil if one may be now.
    ///
    /// - Parameters:
    ///   - byteCount: The size of a JPEG that is there; nil for an image that is to be encoded.
    ///   - now: The time.
    /// - Returns: The time, or nil.
    func holdEnd(for byteCount: Int? = nil, at now: UInt64) -> UInt64? {
        guard isActive else { return nil }
        let end = max(time(for: byteCount ?? size(at: level), after: now), paidAt, takenAt, reservedUntil)
        return end > now ? end : nil
    }

    /// Returns the time from which the latest image, which was sent at less than the maximum quality and has not changed for
    /// some time, is sent again at that.
    func sharpeningTime(changedAt: UInt64, at now: UInt64) -> UInt64 {
        let hasRoomAt = time(for: size(at: maximumQuality), after: now)
        return max(changedAt.addingClamping(Self.stillness), paidAt, takenAt, hasRoomAt)
    }

    /// The expected size of the next image; 0 before the first.
    private func size(at quality: Int) -> Int { Int((size ?? 0) * JPEGSize.ratio(quality)) }

    /// The time from which there is room in the window.
    private func time(for byteCount: Int, after now: UInt64) -> UInt64 {
        guard let windowLimit else { return now }
        return window.time(for: messageByteCount(byteCount), within: windowLimit, after: now)
    }

    /// Chooses the quality of an image that is about to be encoded, of a source with some interval between its frames.
    mutating func begin(sharpening: Bool, interval: UInt64, at now: UInt64) -> Int {
        if !sharpening { chooseLevel(interval, at: now) }
        let quality = sharpening ? maximumQuality : level
        if let size { reserved = (size * JPEGSize.ratio(quality), now) }
        return quality
    }

    /// The bytes of a frame that takes no longer than the next one may take to come, and the quality for that.
    private func possible(_ interval: UInt64) -> (byteCount: Double, quality: Int) {
        let longest = Double(max(min(interval, 200_000_000), adaptation?.longestInterval ?? 0))
        let target = rate.map { $0 * Self.usage * longest } ?? .infinity
        return (target, JPEGSize.quality(for: target, size ?? 0, in: minimumQuality...maximumQuality))
    }

    private mutating func chooseLevel(_ interval: UInt64, at now: UInt64) {
        let (target, possible) = possible(interval)
        if possible < level {
            higherSince = nil
            // A tenth too much is made up for by the next frames.
            if JPEGSize.ratio(level) * (size ?? 0) > 1.1 * target { level = possible }
        } else if possible >= min(level + Self.smallestRise, maximumQuality), possible > level {
            let since = higherSince ?? now
            higherSince = since
            if now >= since.addingClamping(Self.patience) { (level, higherSince) = (possible, nil) }
        } else {
            higherSince = nil
        }
    }

    /// Returns why a frame that is held back is late, if that is a difficulty: the receiver takes less than the maximum, or
    /// the quality is at its lowest already.
    func difficulty(for byteCount: Int?, interval: UInt64, at now: UInt64) -> SampleUploader.Conditions? {
        guard let end = holdEnd(for: byteCount, at: now), end >= now.addingClamping(Self.shortestDelay) else {
            return nil
        }
        if let rate = link.rate, rate < maximumRate ?? .infinity { return .receiverSlow }
        // The next image may be a long time off, because the one before it was large.
        return min(level, possible(interval).quality) == minimumQuality ? .budgetLow : nil
    }

    /// A shorter delay is not noticed, in nanoseconds.
    private static let shortestDelay: UInt64 = 20_000_000

    // MARK: What is sent

    /// Takes in the size of an image that has been encoded, and returns whether there is room for it.
    ///
    /// If there is none, the quality falls, so that the next one has room.
    mutating func encoded(_ byteCount: Int, quality: Int, sharpening: Bool, at now: UInt64) -> Bool {
        reserved = nil
        size = Double(byteCount) / JPEGSize.ratio(quality)
        guard let windowLimit, time(for: byteCount, after: now) > now else { return true }
        guard !sharpening else { return false }
        let room = Double(window.room(within: windowLimit, at: now))
        let possible = JPEGSize.quality(for: room, size ?? 0, in: minimumQuality...maximumQuality)
        level = max(min(level, possible), minimumQuality)
        higherSince = nil
        return false
    }

    /// Notes that the image being encoded came to nothing.
    mutating func gaveUp() { reserved = nil }

    /// Notes that a message with so many bytes is sent.
    mutating func submitted(_ byteCount: Int, at now: UInt64) {
        guard isActive else { return }
        let byteCount = messageByteCount(byteCount)
        window.add(byteCount, at: now)
        debt = (owed(at: now) + Double(byteCount), now)
        takenAt = max(takenAt, now).addingClamping(timeOnLink(byteCount: Double(byteCount)))
    }

    /// Notes that the system has accepted all of it.
    mutating func sent(_ byteCount: Int, beganAt: UInt64, at now: UInt64) {
        guard isActive else { return }
        link.sent(byteCount, in: now.subtractingClamping(beganAt))
    }

    /// Notes how many bytes the receiver has not read yet, if the system tells.
    mutating func sample(unread: Int?, at now: UInt64) {
        guard isActive, let end = link.sample(unread: unread, at: now) else { return }
        takenAt = max(takenAt, end)
    }

    // MARK: How long bytes take

    /// The bytes that the maximum in force has not made up for yet.
    private func owed(at now: UInt64) -> Double {
        guard let maximumRate else { return 0 }
        return max(0, debt.byteCount - Double(now.subtractingClamping(debt.at)) * maximumRate * Self.usage)
    }

    /// The time at which nothing is owed any longer.
    private var paidAt: UInt64 {
        maximumRate == nil ? 0 : debt.at.addingClamping(timeAtMaximum(byteCount: debt.byteCount))
    }

    /// The time at which the image that is being encoded will be made up for, and taken.
    private var reservedUntil: UInt64 {
        guard let (byteCount, at) = reserved else { return 0 }
        return max(
            max(paidAt, at).addingClamping(timeAtMaximum(byteCount: byteCount)),
            max(takenAt, at).addingClamping(timeOnLink(byteCount: byteCount))
        )
    }

    private func timeAtMaximum(byteCount: Double) -> UInt64 {
        maximumRate.map { UInt64(min(byteCount / ($0 * Self.usage), 1e18)) } ?? 0
    }

    /// A receiver that took nothing for a while may take more by now.
    private func timeOnLink(byteCount: Double) -> UInt64 {
        link.rate.map { UInt64(min(byteCount / ($0 * Self.usage), Double(LinkRate.longestWait))) } ?? 0
    }
}
