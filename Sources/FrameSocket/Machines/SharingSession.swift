internal import FrameTransport
internal import FrameWire

/// What an uploader shares with its receiver: whether, in which buffers, how long something waits for one of them, and
/// which rows the receiver's last image lacks.
package struct SharingSession: Sendable {
    /// Whether memory is shared with the receiver.
    private enum Phase: Sendable {
        case off
        /// The receiver may accept shared memory, and has until this time to say so in its hello; then it gets JPEGs, as
        /// a receiver without a hello does.
        case greeting(until: UInt64)
        /// Frames are sent in the buffers of the pool.
        case open
        /// The system has no memory or descriptor for buffers, or another uploader shares them: that does not change
        /// before the next connection.
        case refused
    }

    private var phase = Phase.off

    /// The buffers.
    package internal(set) var pool: SharedPool

    init(owner: UInt64) {
        pool = SharedPool(owner: owner)
    }

    // MARK: The receiver

    private static let greetingTime: UInt64 = 500_000_000

    /// Begins or ends sharing, as the receiver's terms and the configuration say, and takes back what was released.
    ///
    /// - Returns: Whether buffers that were shared are shared no longer.
    mutating func follow(
        _ terms: ReceiverTerms,
        after old: ReceiverTerms,
        _ sharing: SampleUploader.Configuration.Sharing,
        at now: UInt64
    ) -> Bool {
        let isNew = terms.connection != old.connection
        if isNew {
            pool.connect()
            (waitEnd, patience, phase) = (nil, .max, .off)
            // If memory cannot be shared, a hello changes nothing.
            if terms.isConnected, terms.mayShareMemory, sharing != .off {
                phase = .greeting(until: now.addingClamping(Self.greetingTime))
            }
        }
        let mayShare = terms.isConnected && terms.acceptsSharedMemory && !isRefused
        let count = mayShare ? sharing.bufferCount : 0
        var hasEnded = false
        if isNew || count != pool.count {
            hasEnded = pool.isOpen
            if hasEnded { pool.close() }
            if count > 0 { pool.open(count: count) }
            (unsentRows, sentJob) = (nil, nil)
        }
        if count > 0 { phase = .open } else if case .open = phase { phase = .off }
        if !isNew, terms.releases != old.releases {
            for index in SharedFrameHeader.Buffer.indices where terms.releases[index] != old.releases[index] {
                pool.released(index)
            }
        }
        return hasEnded
    }

    private var isRefused: Bool { if case .refused = phase { true } else { false } }

    /// Ends sharing until the next connection.
    mutating func refuse() {
        phase = .refused
        pool.close()
    }

    /// Returns the time until which frames wait for the receiver's hello; nil if they do not.
    func greetingTime(_ terms: ReceiverTerms, at now: UInt64) -> UInt64? {
        guard case .greeting(let end) = phase, now < end, !terms.isGreeted else { return nil }
        return end
    }

    // MARK: Waiting for a buffer

    /// The time at which something that waits for a free shared buffer stops waiting; nil while nothing does.
    package private(set) var waitEnd: UInt64?

    /// The maximum time that a frame waits for a receiver to release a shared buffer, before it is encoded: 2 s.
    var longestWait: UInt64 = 2_000_000_000

    /// How long the next frame waits, at most ``longestWait``.
    ///
    /// A receiver is expected to release its buffers. One that keeps them costs a long wait once, and short ones from
    /// then on, until waiting has paid off several times.
    private var patience = UInt64.max

    /// The callers that wait for a free buffer.
    var waiters: [UInt64] = []

    /// The time that a frame waits for a buffer after another frame has waited without success, or if the receiver has
    /// none to release.
    private static let shortestWait: UInt64 = 20_000_000

    /// Begins or continues to wait for a buffer, or ends it.
    mutating func wait(_ isWaiting: Bool, at now: UInt64) {
        if isWaiting {
            let wait = pool.isAnyWithReceiver ? min(patience, longestWait) : Self.shortestWait
            waitEnd = min(waitEnd ?? .max, now.addingClamping(wait))
        } else if waitEnd != nil {
            waitEnd = nil
            if pool.hasFree { patience = patience.multipliedClamping(by: 2) }
        }
    }

    /// Returns whether the wait for a free shared buffer is over, and none is free.
    func hasWaited(at now: UInt64) -> Bool { waitEnd.map { $0 <= now } ?? false }

    /// Whether something waits, or has waited, for a buffer.
    @inline(__always)
    var isWaiting: Bool { waitEnd != nil }

    /// Notes that waiting was futile: nobody has released a buffer.
    mutating func gaveUp() { (waitEnd, patience) = (nil, Self.shortestWait) }

    /// Returns the callers that need not wait any longer.
    mutating func takeWaiters(isInVain: Bool) -> [UInt64] {
        if isInVain { patience = Self.shortestWait }
        defer { waiters = [] }
        return waiters
    }

    // MARK: Changed rows

    /// The rows in which the next image copied to a shared buffer may differ from the receiver's last, besides those in
    /// which it differs from the image copied before it; nil if any row may.
    private var unsentRows: Range<Int>?

    /// The orientation of the last image copied to a shared buffer.
    private var copiedOrientation: FrameOrientation?

    /// The number of the receiver's last shared image, if that was drawn; nil if not, or if it has none.
    private var sentJob: UInt64?

    /// Whether the frame submitted last is in a shared buffer.
    var isLatestShared = false

    /// Records an image that was copied, and states the rows in which it differs from the receiver's last.
    mutating func copied(_ image: inout BufferedImage) {
        if let unsentRows, let rows = image.changedRows, image.orientation == copiedOrientation {
            image.changedRows = rows.joined(with: unsentRows)
        } else {
            image.changedRows = nil
        }
        unsentRows = image.changedRows
        copiedOrientation = image.orientation
    }

    /// States the rows in which an image that was drawn differs from the receiver's last, if its damage since then is
    /// known.
    func drawn(_ image: inout BufferedImage, _ damage: RowDamage) {
        image.job = damage.image
        image.changedRows = damage.rows(since: sentJob ?? 0)?.range
    }

    mutating func sent(_ image: inout BufferedImage) {
        if !image.isSent {
            switch image.origin {
            case .copied: unsentRows = 0..<0
            // The next image is compared with the one copied last, which the receiver does not have.
            case .drawn: unsentRows = nil
            }
            sentJob = image.job
        }
        (image.isSent, image.changedRows) = (true, 0..<0)
    }
}

extension Range<Int> {
    /// Returns the smallest range that contains both; an empty one adds nothing.
    fileprivate func joined(with other: Range<Int>) -> Range<Int> {
        if isEmpty { return other }
        guard !other.isEmpty else { return self }
        return Swift.min(lowerBound, other.lowerBound)..<Swift.max(upperBound, other.upperBound)
    }
}
