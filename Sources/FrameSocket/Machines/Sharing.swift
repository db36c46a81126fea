internal import FrameTransport
internal import FrameWire

/// What an uploader shares with its receiver: whether, and in which buffers.
///
/// Each buffer has one owner: it is the receiver's from the frame in it until its release, or the end of the connection. The
/// memory belongs to one connection: the next one gets its own.
package struct Sharing: Sendable {
    /// A buffer to fill.
    package struct Place: Sendable, Hashable {
        /// The buffer's index, by which the receiver knows it.
        package let index: Int
        /// The generation of its memory.
        package let generation: UInt64
        /// Its size in bytes.
        package let byteCount: Int
    }

    private struct Buffer: Sendable {
        var byteCount = 0
        /// Whether the receiver knows its memory.
        var isAnnounced = false
        /// Whether the receiver has it, or is about to get it.
        var isWithReceiver = false
        /// When it was last filled, as a number; 0 before the first time.
        var lastUse: UInt64 = 0
    }

    /// The number of buffers: the receiver can hold one while the next is on its way and another is filled.
    package static let count = 3

    private var buffers = Array(repeating: Buffer(), count: Self.count)
    private var useCount: UInt64 = 0

    /// Whether the receiver accepts frames in shared memory.
    package private(set) var isOpen = false

    /// The generation of the memory, which is released as a whole.
    package private(set) var generation: UInt64 = 0

    /// The first generation of the connection, which may have had other memory before.
    private var firstGeneration: UInt64 = 0

    /// Whether the system has no memory or descriptor for buffers, or another uploader shares them: that does not change
    /// before the next connection.
    private var isRefused = false

    /// The time until which the receiver may say in its hello whether it accepts shared memory; nil if it has, or cannot.
    private var greetingEnd: UInt64?

    /// The time at which the last free buffer was taken.
    private var fullSince: UInt64 = 0

    /// The rows in which the next copied image may differ from the receiver's last, besides those in which it differs from
    /// the image copied before it; nil if any row may.
    private var unsentRows: Range<Int>?
    /// The orientation of the last copied image.
    private var copiedOrientation: FrameOrientation?

    private static let greetingTime: UInt64 = 500_000_000

    /// The time for which a receiver may have every buffer until images are encoded instead: 2 s.
    var longestWait: UInt64 = 2_000_000_000

    // MARK: The receiver

    /// Begins or ends sharing, as the receiver's terms and the configuration say, and takes back what was released.
    ///
    /// - Returns: Whether buffers that were shared are shared no longer.
    mutating func follow(_ terms: ReceiverTerms, after old: ReceiverTerms, isAllowed: Bool, at now: UInt64) -> Bool {
        let (wasOpen, isNew) = (isOpen, terms.connection != old.connection)
        if isNew {
            close()
            firstGeneration = generation
            for index in buffers.indices { buffers[index].isWithReceiver = false }
            // If memory cannot be shared, a hello changes nothing.
            let mayBeShared = terms.isConnected && terms.mayShareMemory && isAllowed
            (isRefused, greetingEnd) = (false, mayBeShared ? now.addingClamping(Self.greetingTime) : nil)
        }
        if terms.isGreeted { greetingEnd = nil }
        let isShared = isAllowed && terms.isConnected && terms.acceptsSharedMemory && !isRefused
        if !isShared, isOpen { close() }
        if isShared, !isOpen { (isOpen, unsentRows) = (true, nil) }
        if !isNew, terms.releases != old.releases {
            for index in SharedFrameHeader.Buffer.indices where terms.releases[index] != old.releases[index] {
                if buffers.indices.contains(index) { buffers[index].isWithReceiver = false }
            }
        }
        return wasOpen && (isNew || !isShared)
    }

    /// Ends sharing, and with it the memory; the receiver may still have buffers until it releases them.
    private mutating func close() {
        isOpen = false
        generation += 1
        for index in buffers.indices { buffers[index] = Buffer(isWithReceiver: buffers[index].isWithReceiver) }
    }

    /// Ends sharing until the next connection.
    mutating func refuse() {
        isRefused = true
        close()
    }

    // MARK: Waiting

    /// The time before which nothing is sent: a new receiver has not said whether it accepts shared memory.
    func greetingTime(at now: UInt64) -> UInt64? {
        greetingEnd.flatMap { now < $0 ? $0 : nil }
    }

    /// The time until which images wait for a buffer, while the receiver has each.
    package var waitEnd: UInt64 { fullSince.addingClamping(longestWait) }

    /// Whether a buffer can be filled.
    package var hasFree: Bool { buffers.contains { !$0.isWithReceiver } }

    // MARK: Buffers

    /// Returns the best buffer to fill with an image; nil while the receiver has every one.
    ///
    /// The most recently filled buffer of the right size comes first, because its content is the most similar, and the
    /// most likely to be in the processor's caches still. Otherwise, memory of another size is replaced before more is
    /// created.
    package func place(for byteCount: Int) -> Place? {
        func rank(_ buffer: Buffer) -> (Int, UInt64) {
            buffer.byteCount == byteCount ? (2, buffer.lastUse) : (buffer.byteCount > 0 ? 1 : 0, 0)
        }
        var best: Int?
        for index in buffers.indices where !buffers[index].isWithReceiver {
            if best.map({ rank(buffers[$0]) < rank(buffers[index]) }) ?? true { best = index }
        }
        return best.map { Place(index: $0, generation: generation, byteCount: byteCount) }
    }

    /// Whether a buffer's memory belongs to what is shared now.
    package func isCurrent(_ place: Place) -> Bool { isOpen && place.generation == generation }

    /// Begins to fill a buffer.
    mutating func fill(_ place: Place) {
        // New memory is none that the receiver has.
        if buffers[place.index].byteCount != place.byteCount {
            buffers[place.index] = Buffer(byteCount: place.byteCount)
        }
        useCount += 1
        buffers[place.index].lastUse = useCount
    }

    /// Records an image that was copied, and states the rows in which it differs from the receiver's last.
    mutating func copied(_ copy: inout SharedCopy) {
        if let unsentRows, let rows = copy.changedRows, copy.orientation == copiedOrientation {
            copy.changedRows = rows.joined(with: unsentRows)
        } else {
            copy.changedRows = nil
        }
        (unsentRows, copiedOrientation) = (copy.changedRows, copy.orientation)
    }

    /// Records that a buffer is the receiver's from now on, and returns whether its memory is new to that.
    mutating func submitted(_ place: Place, at now: UInt64) -> Bool {
        buffers[place.index].isWithReceiver = true
        if !hasFree { fullSince = now }
        return !buffers[place.index].isAnnounced
    }

    /// Records whether a copy has been sent; its release may have come before.
    mutating func settled(_ place: Place, isSent: Bool) {
        guard place.generation >= firstGeneration else { return }
        if !isSent { buffers[place.index].isWithReceiver = false }
        guard isSent, isCurrent(place) else { return }
        (buffers[place.index].isAnnounced, unsentRows) = (true, 0..<0)
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
