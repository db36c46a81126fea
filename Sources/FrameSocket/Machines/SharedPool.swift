internal import FrameWire

/// Decides what each buffer that is shared with a receiver holds, and which of them can be filled.
///
/// A buffer is in use while this side refers to an image in it, and while the receiver has it. The buffers belong to
/// one connection: the next connection gets new ones.
package struct SharedPool: Sendable {
    /// A claim to a buffer, as long as this side refers to an image in it.
    package struct Lease: Sendable, Hashable {
        /// The buffer's index, by which the receiver knows it.
        package let index: Int
        /// Distinguishes the leases of one uploader.
        package let number: UInt64
        /// The uploader's own number; no other uploader can send the image in its buffer.
        package let owner: UInt64
        /// The size of the buffer in bytes.
        package let byteCount: Int
    }

    private struct Buffer: Sendable {
        var byteCount = 0
        var lease: UInt64?
        var isAnnounced = false
        /// The number of its last lease; 0 before the first one.
        var lastLease: UInt64 = 0
    }

    private let owner: UInt64

    /// The buffers; empty if nothing is shared.
    private var buffers: [Buffer] = []

    /// Whether the receiver has the buffer with an index, or is about to get it; unchanged if the number of buffers
    /// changes.
    private var isWithReceiver = SharedFrameHeader.Buffer.indices.map { _ in false }
    private var lastLease: UInt64 = 0
    /// The number of the first lease of these buffers.
    private(set) var firstLease: UInt64 = 0
    /// The number of the first lease of the connection, which may have had other buffers before.
    private var firstLeaseOfConnection: UInt64 = 0

    /// Whether the receiver accepts frames in shared memory.
    @inline(__always)
    package var isOpen: Bool { !buffers.isEmpty }

    var count: Int { buffers.count }

    /// The bytes of every buffer.
    package var byteCount: Int { buffers.reduce(0) { $0 + $1.byteCount } }

    /// The number of buffers that cannot be filled.
    package var usedCount: Int { buffers.indices.count { !isFree($0) } }

    /// Whether the receiver has any of these buffers, which it will release.
    package var isAnyWithReceiver: Bool { buffers.indices.contains { isWithReceiver[$0] } }

    private func isFree(_ index: Int) -> Bool { buffers[index].lease == nil && !isWithReceiver[index] }

    init(owner: UInt64) {
        self.owner = owner
    }

    /// Begins a connection, whose receiver has no buffer.
    mutating func connect() {
        firstLeaseOfConnection = lastLease + 1
        for index in isWithReceiver.indices { isWithReceiver[index] = false }
    }

    /// Begins to share a number of buffers with the receiver, which may still have some of those that it got before.
    mutating func open(count: Int) {
        firstLease = lastLease + 1
        buffers = Array(repeating: Buffer(), count: count)
    }

    /// Ends sharing: leases become those of ordinary memory.
    mutating func close() {
        firstLease = lastLease + 1
        buffers = []
    }

    /// The bytes of the buffers that can be filled.
    var freeByteCount: Int { buffers.indices.reduce(0) { $0 + (isFree($1) ? buffers[$1].byteCount : 0) } }

    var hasFree: Bool { buffers.indices.contains(where: isFree) }

    /// The index of the best buffer to fill with an image; nil while every one is in use.
    ///
    /// The most recently leased buffer of the right size comes first, because its content is the most similar, and the
    /// most likely to be in the processor's caches still. Otherwise, memory of another size is replaced before more is
    /// created.
    func freeIndex(for byteCount: Int) -> Int? {
        var best: Int?
        for index in buffers.indices where isFree(index) {
            guard let known = best else {
                best = index
                continue
            }
            if isBetter(buffers[index], than: buffers[known], for: byteCount) { best = index }
        }
        return best
    }

    private func isBetter(_ buffer: Buffer, than other: Buffer, for byteCount: Int) -> Bool {
        if buffer.byteCount == byteCount { return other.byteCount != byteCount || other.lastLease < buffer.lastLease }
        return buffer.byteCount > 0 && other.byteCount == 0
    }

    /// The bytes by which the pool grows if a buffer is filled with an image.
    func growth(of index: Int, for byteCount: Int) -> Int { max(0, byteCount - buffers[index].byteCount) }

    mutating func lease(_ index: Int, byteCount: Int) -> Lease {
        lastLease += 1
        if buffers[index].byteCount != byteCount {
            // New memory, which the receiver does not have.
            buffers[index] = Buffer(byteCount: byteCount)
        }
        (buffers[index].lease, buffers[index].lastLease) = (lastLease, lastLease)
        return Lease(index: index, number: lastLease, owner: owner, byteCount: byteCount)
    }

    /// Whether a lease is of these buffers.
    @inline(__always)
    package func isCurrent(_ lease: Lease) -> Bool {
        lease.number >= firstLease && isOpen && lease.owner == owner && buffers[lease.index].lease == lease.number
    }

    /// Whether the image of a lease can be sent in its buffer: the receiver does not have it.
    func canSend(_ lease: Lease) -> Bool { isCurrent(lease) && !isWithReceiver[lease.index] }

    /// Whether the receiver has the memory of a lease already.
    func isAnnounced(_ lease: Lease) -> Bool { buffers[lease.index].isAnnounced }

    /// Handles the last reference to an image.
    mutating func ended(_ lease: Lease) {
        guard isCurrent(lease) else { return }
        buffers[lease.index].lease = nil
    }

    /// Handles the submission of an image, which the receiver may have from now on.
    mutating func submitted(_ lease: Lease) {
        isWithReceiver[lease.index] = true
    }

    /// Handles the outcome of a submission.
    mutating func settled(_ lease: Lease, isSent: Bool) {
        guard lease.number >= firstLeaseOfConnection else { return }
        // A release may have come before this report.
        if !isSent {
            isWithReceiver[lease.index] = false
        } else if isCurrent(lease) {
            buffers[lease.index].isAnnounced = true
        }
    }

    /// Handles the receiver's release of a buffer, which has no effect if the receiver does not have the buffer.
    mutating func released(_ index: Int) {
        isWithReceiver[index] = false
    }

    /// Forgets the memory of the buffers that can be filled.
    ///
    /// - Returns: Their indices, and the number of the last lease that may have been of that memory.
    mutating func reclaim() -> [(index: Int, lease: UInt64)] {
        let free = buffers.indices.filter { isFree($0) && buffers[$0].byteCount > 0 }
        for index in free { buffers[index] = Buffer() }
        return free.map { ($0, lastLease) }
    }

    /// Turns the memory of a lease into ordinary memory, although something still refers to an image in it.
    ///
    /// - Returns: The same as ``reclaim()``.
    mutating func abandon(_ lease: Lease) -> (index: Int, lease: UInt64) {
        buffers[lease.index] = Buffer()
        return (lease.index, lease.number)
    }

    /// Forgets the memory of a lease that could not be created.
    mutating func failed(_ lease: Lease) {
        guard isCurrent(lease) else { return }
        buffers[lease.index] = Buffer()
    }
}
