internal import FrameWire

/// Decides what a receiver does with the buffers that its sender shares: which may be announced, which frames may
/// refer to them, and when they go back.
///
/// A buffer is the receiver's from the frame in it until its release is queued for the sender.
package struct SharedBuffers: Sendable {
    /// What the receiver has said.
    package enum Terms: Sendable, Hashable {
        /// It did not ask for shared memory: the messages are unknown ones.
        case refused
        case accepted
        /// It has declined: messages that were under way are skipped.
        case declined
    }

    private enum Holder {
        case sender
        /// The receiver's program.
        case program
        /// The receiver; the release waits for room.
        case outbox
    }

    private struct Buffer {
        let byteCount: Int
        var holder = Holder.sender
    }

    /// The descriptor that has arrived ahead of its announcement.
    private enum Passed {
        case none
        /// It belongs to a header that begins in the bytes it arrived with; after these, to the unfinished one.
        case arrived(isDue: Bool)
        /// This process could not take it.
        case lost(isDue: Bool)
    }

    package private(set) var terms: Terms
    private var buffers = [Buffer?](repeating: nil, count: SharedBufferHead.indices.count)
    private var passed = Passed.none
    /// Whether the sender is still to be told that the receiver declines.
    private var owesDecline = false

    package init(isAccepting: Bool) {
        terms = isAccepting ? .accepted : .refused
    }

    /// The number of buffers that the receiver holds.
    package var heldCount: Int { buffers.count { $0.map { $0.holder != .sender } ?? false } }

    // MARK: Descriptors

    /// Handles descriptors that have arrived with the bytes of a read, before these are decoded.
    ///
    /// - Throws: `sharedMemory` if there are more than one announcement can account for.
    mutating func arrived(_ count: Int, areLost: Bool) throws(TransportError) {
        guard count > 0 || areLost else { return }
        guard case .none = passed, count < 2 else {
            throw .sharedMemory("the sender passed more than one descriptor with an announcement")
        }
        passed = areLost ? .lost(isDue: false) : .arrived(isDue: false)
    }

    /// Handles the end of the bytes that have arrived, within a header or not.
    ///
    /// - Throws: `sharedMemory` if a descriptor has arrived that no announcement can account for.
    mutating func bytesEnded(isInHeader: Bool) throws(TransportError) {
        switch passed {
        case .none: return
        case .arrived where isInHeader: passed = .arrived(isDue: true)
        case .lost where isInHeader: passed = .lost(isDue: true)
        case .arrived, .lost: throw Self.unannounced
        }
    }

    /// Handles the complete header of any other message.
    ///
    /// - Throws: `sharedMemory` if it should have been the announcement of a descriptor.
    mutating func otherMessage() throws(TransportError) {
        switch passed {
        case .arrived(isDue: true), .lost(isDue: true): throw Self.unannounced
        case .none, .arrived, .lost: return
        }
    }

    private static let unannounced = TransportError.sharedMemory("the sender passed a descriptor without announcing it")

    // MARK: Messages

    /// What to do with an announcement.
    enum Announcement {
        /// Map the descriptor that has arrived, in place of earlier memory with this index.
        case map
        /// Close the descriptor, if one has arrived.
        case skip
        /// Decline: the descriptor was lost on this side.
        case decline
    }

    /// Handles an announcement.
    ///
    /// - Throws: `sharedMemory` if it has no descriptor, or the receiver holds the buffer.
    mutating func announced(_ head: SharedBufferHead) throws(TransportError) -> Announcement {
        defer { passed = .none }
        guard terms == .accepted else { return .skip }
        if case .lost = passed { return .decline }
        guard case .arrived = passed else {
            throw .sharedMemory("the sender announced shared buffer \(head.index) without passing its descriptor")
        }
        if let buffer = buffers[head.index], buffer.holder != .sender {
            throw .sharedMemory("the sender announced shared buffer \(head.index) again while this side holds it")
        }
        buffers[head.index] = nil
        return .map
    }

    /// Records that an announced buffer is mapped.
    mutating func mapped(_ head: SharedBufferHead) {
        buffers[head.index] = Buffer(byteCount: head.byteCount)
    }

    /// Handles a frame, whose buffer the receiver holds from now on.
    ///
    /// - Returns: Whether to deliver it; false if it is to be skipped.
    /// - Throws: `sharedMemory` if its buffer is unknown, held, or too small.
    mutating func frame(_ head: SharedFrameHead) throws(TransportError) -> Bool {
        guard terms == .accepted else { return false }
        guard let buffer = buffers[head.buffer] else {
            throw .sharedMemory("the sender sent a frame in shared buffer \(head.buffer), which it did not announce")
        }
        guard buffer.holder == .sender else {
            throw .sharedMemory("the sender sent a frame in shared buffer \(head.buffer) while this side holds it")
        }
        guard head.fits(inBufferOf: buffer.byteCount) else {
            throw .sharedMemory(
                "a frame of \(head.bufferSize.width)x\(head.bufferSize.height) \(head.format.rawValue) is not within "
                    + "its shared buffer of \(buffer.byteCount) bytes"
            )
        }
        buffers[head.buffer]?.holder = .program
        return true
    }

    // MARK: Releases

    /// Handles that the program has released a frame.
    mutating func released(_ index: Int) {
        guard case .program? = buffers[index]?.holder else { return }
        buffers[index]?.holder = .outbox
    }

    /// Queues what the outbox has room for; returns whether there was anything.
    mutating func queueRequests(in outbox: inout RequestOutbox) -> Bool {
        var hasQueued = false
        if owesDecline, outbox.add(.decline) { (owesDecline, hasQueued) = (false, true) }
        for index in buffers.indices {
            guard case .outbox? = buffers[index]?.holder, outbox.add(.release(buffer: index)) else { continue }
            buffers[index]?.holder = .sender
            hasQueued = true
        }
        return hasQueued
    }

    /// Handles that the receiver takes no further frames in shared memory on this connection.
    mutating func decline() {
        (terms, owesDecline) = (.declined, true)
        for index in buffers.indices { buffers[index] = nil }
    }
}
