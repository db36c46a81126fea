internal import FrameWire

/// Decides what a receiver does with the buffers that its sender shares: which may be announced, which frames may
/// refer to them, and when they go back.
///
/// A buffer is the receiver's from the frame in it until its release is queued for the sender.
package struct SharedBuffers: Sendable {
    /// What the receiver has said.
    package enum Terms: Sendable, Hashable {
        /// It did not ask for shared memory: the messages count as unknown.
        case refused
        case accepted
        /// It has declined: messages in transit are skipped.
        case declined
    }

    private struct Buffer {
        let byteCount: Int
        /// Whether the receiver has it.
        var isHeld = false
    }

    /// What was passed ahead of an announcement.
    private enum Passed {
        case descriptor
        /// A descriptor that this process had no room for.
        case lost
        /// More descriptors than one announcement can account for.
        case several
    }

    package private(set) var terms: Terms
    /// Whether a frame was skipped since the last one that the consumer got.
    var hasSkippedFrame = false
    /// Empty if the receiver did not ask for shared memory.
    private var buffers: [Buffer?]
    /// What arrived with bytes of the header that was unfinished when they ended.
    private var due: Passed?
    /// What has arrived with the bytes that are being decoded.
    ///
    /// A read ends with the bytes that the descriptor arrived with, but may begin before them, even with the rest of a
    /// header for which another descriptor is due.
    private var fresh: Passed?
    /// Whether the sender is still to be told that the receiver declines.
    private var owesDecline = false
    /// The buffers that the program has released, whose releases wait for room.
    private var released: [Int] = []

    package init(isAccepting: Bool) {
        terms = isAccepting ? .accepted : .refused
        buffers = Array(repeating: nil, count: isAccepting ? SharedFrameHeader.Buffer.indices.count : 0)
    }

    /// The number of buffers that the receiver holds.
    package var heldCount: Int { buffers.count { $0?.isHeld == true } }

    // MARK: Descriptors

    /// Handles descriptors that have arrived with the bytes of a read, before these are decoded.
    ///
    /// Errors in them are found only after the messages before them have been handled.
    mutating func arrived(_ count: Int, areLost: Bool) {
        fresh =
            switch (count, areLost) {
            case (...0, false): nil
            case (...0, true): .lost
            case (1, false): .descriptor
            default: .several
            }
    }

    /// Handles the end of the bytes that have arrived, within a header or not.
    ///
    /// - Throws: `sharedMemory` if something was passed that no announcement can account for.
    mutating func bytesEnded(isInHeader: Bool) throws(TransportError) {
        guard due != nil || fresh != nil else { return }
        guard isInHeader else { throw Self.unannounced }
        guard let fresh else { return }
        guard due == nil else { throw Self.several }
        (due, self.fresh) = (fresh, nil)
    }

    /// Handles the complete header of any other message.
    ///
    /// - Throws: `sharedMemory` if it should have been the announcement of a descriptor.
    func otherMessage() throws(TransportError) {
        if due != nil { throw Self.unannounced }
    }

    static let unannounced = TransportError.sharedMemory("the sender passed a descriptor without announcing it")
    private static let several = TransportError.sharedMemory(
        "the sender passed more than one descriptor with an announcement"
    )

    // MARK: Messages

    /// What to do with an announcement.
    enum Announcement {
        /// Map the descriptor that has arrived, in place of earlier memory with this index.
        case map
        /// Close the descriptor that has arrived, if one has.
        case drop
        /// Decline: the descriptor was lost on this side.
        case decline
    }

    /// Handles an announcement.
    ///
    /// - Throws: `sharedMemory` if it does not have exactly one descriptor, or the receiver holds the buffer.
    mutating func announced(_ header: SharedFrameHeader.Buffer) throws(TransportError) -> Announcement {
        let passed = due.take() ?? fresh.take()
        if case .several? = passed { throw Self.several }
        guard terms == .accepted else { return .drop }
        guard let passed else {
            throw .sharedMemory("the sender announced shared buffer \(header.index) without passing its descriptor")
        }
        if passed == .lost { return .decline }
        if buffers[header.index]?.isHeld == true {
            throw .sharedMemory("the sender announced shared buffer \(header.index) again while this side holds it")
        }
        buffers[header.index] = nil
        return .map
    }

    /// Records that an announced buffer is mapped.
    mutating func mapped(_ header: SharedFrameHeader.Buffer) {
        buffers[header.index] = Buffer(byteCount: header.byteCount)
    }

    /// Handles a frame, whose buffer the receiver holds from now on.
    ///
    /// - Returns: Whether to deliver it; false if it is to be skipped.
    /// - Throws: `sharedMemory` if its buffer is unknown, held, or too small.
    mutating func frame(_ header: SharedFrameHeader) throws(TransportError) -> Bool {
        guard terms == .accepted else { return false }
        guard let buffer = buffers[header.buffer] else {
            throw .sharedMemory("the sender sent a frame in shared buffer \(header.buffer), which it did not announce")
        }
        guard !buffer.isHeld else {
            throw .sharedMemory("the sender sent a frame in shared buffer \(header.buffer) while this side holds it")
        }
        guard header.fits(inBufferOf: buffer.byteCount) else {
            throw .sharedMemory(
                "a frame of \(header.info.bufferSize.width)x\(header.info.bufferSize.height) \(header.format.rawValue) is not within "
                    + "its shared buffer of \(buffer.byteCount) bytes"
            )
        }
        buffers[header.buffer]?.isHeld = true
        return true
    }

    // MARK: Releases

    /// Handles the program's release of a frame.
    mutating func released(_ index: Int) {
        guard buffers.indices.contains(index), buffers[index]?.isHeld == true, !released.contains(index) else { return }
        released.append(index)
    }

    /// Queues what the outbox has room for; returns whether there was anything.
    mutating func queueRequests(in outbox: inout RequestOutbox) -> Bool {
        var hasQueued = false
        if owesDecline, outbox.add(.decline) { (owesDecline, hasQueued) = (false, true) }
        while let index = released.first, outbox.addRelease(of: index) {
            released.removeFirst()
            buffers[index]?.isHeld = false
            hasQueued = true
        }
        return hasQueued
    }

    /// Declines further frames in shared memory on this connection.
    mutating func decline() {
        (terms, owesDecline, released) = (.declined, true, [])
        for index in buffers.indices { buffers[index] = nil }
    }
}

/// Frames in shared memory.
extension ReceiverMachine {
    // MARK: Events

    /// Handles the program's release of the last frame in a buffer.
    package mutating func bufferReleased(_ index: Int, _ system: some System) {
        release(index, system)
        proceed(system)
    }

    // MARK: Consequences

    private mutating func release(_ index: Int, _ system: some System) {
        shared.released(index)
        writeSharedRequests(system)
    }

    /// Accepts no further frames in shared memory.
    mutating func declineSharedMemory(_ system: some System) {
        guard shared.terms == .accepted, closeReason == nil else { return }
        shared.decline()
        system.unmapBuffers()
        writeSharedRequests(system)
    }

    private mutating func writeSharedRequests(_ system: some System) {
        if isReady, shared.queueRequests(in: &outbox) { writeRequests(system) }
    }

    // MARK: Messages

    /// Compares the descriptors that have arrived with the messages.
    ///
    /// - Throws: `sharedMemory` if one has not been announced.
    mutating func checkDescriptors(at event: FrameAssembler.Event) throws(TransportError) {
        switch event {
        case .incomplete: try shared.bytesEnded(isInHeader: assembler.phase == .header)
        case .message(.sharedBuffer, _): break
        case .message, .body: try shared.otherMessage()
        }
    }

    /// Handles an announcement, and its descriptor.
    mutating func announced(_ header: SharedFrameHeader.Buffer, _ system: some System) {
        do throws(TransportError) {
            switch try shared.announced(header) {
            case .map: if try system.map(header) { shared.mapped(header) } else { declineSharedMemory(system) }
            case .drop: system.dropDescriptor()
            case .decline: declineSharedMemory(system)
            }
        } catch {
            fail(error, system)
        }
    }

    /// Handles a frame in a shared buffer.
    mutating func deliver(_ header: SharedFrameHeader, _ system: some System) {
        do throws(TransportError) {
            guard try shared.frame(header) else { return }
        } catch {
            return fail(error, system)
        }
        guard assembler.keepsFrames else {
            shared.hasSkippedFrame = true
            return release(header.buffer, system)
        }
        var header = header
        // The stated rows are compared with a frame that the consumer does not have.
        if shared.hasSkippedFrame { header.changedRows = nil }
        shared.hasSkippedFrame = false
        useRoom()
        let frame = assembler.takeFrame(header.header, .none, at: now)
        system.deliver(frame, in: header, more: mayRead || assembler.hasMore)
    }
}
