internal import FrameTransport
internal import FrameWire

/// What an uploader shares with its receiver: whether, in which buffers, how long a frame waits for one of them, and which
/// rows the receiver's last image lacks.
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
    package internal(set) var pool = SharedPool()

    /// The uploader's number: a receiver gets buffers of one uploader only.
    private let owner: UInt64

    init(owner: UInt64) {
        self.owner = owner
    }

    // MARK: The receiver

    private static let greetingTime: UInt64 = 500_000_000

    /// Begins or ends sharing, as the receiver's terms and the configuration say, and takes back what was released.
    ///
    /// - Returns: Whether buffers that were shared are shared no longer.
    mutating func follow(_ terms: ReceiverTerms, after old: ReceiverTerms, isAllowed: Bool, at now: UInt64) -> Bool {
        let wasOpen = pool.isOpen
        let isNew = terms.connection != old.connection
        if isNew {
            pool.connect()
            (waitEnd, hasGivenUp, phase) = (nil, false, .off)
            // If memory cannot be shared, a hello changes nothing.
            if terms.isConnected, terms.mayShareMemory, isAllowed {
                phase = .greeting(until: now.addingClamping(Self.greetingTime))
            }
        }
        let isRefused = if case .refused = phase { true } else { false }
        let isShared = isAllowed && terms.isConnected && terms.acceptsSharedMemory && !isRefused
        if isNew || isShared != pool.isOpen { (unsentRows, hasGivenUp) = (nil, false) }
        if !isShared, pool.isOpen { pool.close() } else if isShared { pool.open() }
        if isShared { phase = .open } else if case .open = phase { phase = .off }
        if !isNew, terms.releases != old.releases {
            for index in SharedFrameHeader.Buffer.indices where terms.releases[index] != old.releases[index] {
                pool.released(index)
            }
            hasGivenUp = false
        }
        return wasOpen && (isNew || !isShared)
    }

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

    /// The time at which a frame that waits for a free buffer stops waiting; nil while none does.
    package private(set) var waitEnd: UInt64?

    /// The maximum time that a frame waits for a receiver to release a buffer, before it is encoded: 2 s.
    var longestWait: UInt64 = 2_000_000_000

    /// Whether a frame has waited in vain since a buffer was last released: nothing waits until one is.
    private(set) var hasGivenUp = false

    /// Begins or continues to wait for a buffer, or ends it.
    mutating func wait(_ isWaiting: Bool, at now: UInt64) {
        waitEnd = isWaiting ? waitEnd ?? now.addingClamping(longestWait) : nil
    }

    /// Returns whether the wait for a free buffer is over, and none is free.
    func hasWaited(at now: UInt64) -> Bool { waitEnd.map { $0 <= now } ?? false }

    /// Whether a frame waits, or has waited, for a buffer.
    @inline(__always)
    var isWaiting: Bool { waitEnd != nil }

    /// Notes that waiting was futile: nobody has released a buffer.
    mutating func gaveUp() { (waitEnd, hasGivenUp) = (nil, true) }

    // MARK: Copies

    /// The rows in which the next copied image may differ from the receiver's last, besides those in which it differs from
    /// the image copied before it; nil if any row may.
    private var unsentRows: Range<Int>?

    /// The orientation of the last copied image.
    private var copiedOrientation: FrameOrientation?

    /// Whether the frame submitted last is in a shared buffer.
    var isLatestShared = false

    /// Records an image that was copied, and states the rows in which it differs from the receiver's last.
    mutating func copied(_ copy: inout SharedCopy) {
        if let unsentRows, let rows = copy.changedRows, copy.orientation == copiedOrientation {
            copy.changedRows = rows.joined(with: unsentRows)
        } else {
            copy.changedRows = nil
        }
        unsentRows = copy.changedRows
        copiedOrientation = copy.orientation
    }

    /// Returns the message for a copy, whose buffer the receiver may have from now on.
    mutating func submit(_ copy: SharedCopy, _ info: FrameInfo) -> FrameMessage? {
        let message = copy.message(info, isNew: !pool.isAnnounced(copy.place), owner: owner)
        if message != nil { pool.submitted(copy.place) }
        return message
    }

    /// Records whether a copy has been sent.
    mutating func settled(_ copy: SharedCopy, isSent: Bool) {
        pool.settled(copy.place, isSent: isSent)
        if isSent, pool.isCurrent(copy.place) { unsentRows = 0..<0 }
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
