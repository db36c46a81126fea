internal import FrameSocket
internal import FrameTransport
internal import FrameWire

/// What follows the shared memory of one connection of a sender of this package, by the bytes alone.
struct SharedMonitor {
    struct Buffer {
        let memory: SharedMemory
        /// What is in it, while the receiver has it.
        var held: SimImage?
    }

    /// Whether the receiver has asked for shared memory, and has not declined.
    var isAccepted = false
    var hasDeclined = false
    /// Whether a message was under way when the decline was read, and still is.
    var isUnderWay = false
    /// The memory whose descriptor was passed with the message that has begun.
    var passed: SharedMemory?
    var buffers = [Buffer?](repeating: nil, count: SharedFrameHeader.Buffer.indices.count)
    /// The last image, and a copy of its rows.
    var last: (header: SharedFrameHeader, rows: [UInt8])?
    /// Whether the last frame went out in shared memory.
    var isLastShared = false
    /// Whether nothing but a decline asks for a frame, the latest one.
    var isAskedByDecline = false
    var frames = 0

    /// How many buffers the receiver has.
    var heldCount: Int { buffers.count { $0?.held != nil } }
}

/// What a sender of this package does with shared memory, checked as it is written and read.
extension World {
    /// Descriptors are passed with the next byte.
    func monitorPassing(_ monitor: SenderMonitor, _ memory: SharedMemory) {
        check(.descriptorsMatch, monitor.isBetweenMessages, "a descriptor is passed within a message")
        check(.descriptorsMatch, monitor.shared.passed == nil, "two descriptors are passed")
        monitor.shared.passed = memory
    }

    private func checkAccepted(_ monitor: SenderMonitor) {
        // What began before a decline was read may end after it.
        let sender = monitor.sender
        let isAccepted =
            monitor.shared.isAccepted || monitor.shared.isUnderWay
            // A sender that ends reads no requests any more.
            || sender.hasClosed
        check(.sharedOnlyIfAsked, isAccepted, "sender \(sender.index) shares memory that is not accepted")
    }

    /// A buffer has been announced.
    func sharedBufferWritten(_ header: SharedFrameHeader.Buffer, _ monitor: SenderMonitor) {
        checkAccepted(monitor)
        guard let memory = monitor.shared.passed.take() else {
            return violate(.descriptorsMatch, "buffer \(header.index) is announced without a descriptor")
        }
        let isRight = memory.byteCount == header.byteCount
        check(.descriptorsMatch, isRight, "a buffer has another size than announced")
        if let old = monitor.shared.buffers[header.index], old.held != nil, hasOurReceiver(monitor) {
            violate(.heldBuffersStay, "buffer \(header.index) is announced again while its receiver has it")
        }
        for other in monitors where other !== monitor {
            let isUsed = other.shared.buffers.contains { $0?.memory === memory && $0 != nil }
            check(.buffersHaveOneConnection, !isUsed, "memory of another connection is announced")
        }
        let sender = monitor.sender
        let hasShared = monitors.contains { $0 !== monitor && $0.sender === sender && $0.shared.frames > 0 }
        if hasShared { coverage.count(.sharedOnTwoConnections) }
        monitor.shared.buffers[header.index] = SharedMonitor.Buffer(memory: memory)
    }

    /// A frame in a buffer has been written; nil if it shows nothing that was offered.
    func sharedFrameWritten(_ header: SharedFrameHeader, _ monitor: SenderMonitor) -> Content.Identity? {
        checkAccepted(monitor)
        let sender = monitor.sender
        check(.descriptorsMatch, monitor.shared.passed == nil, "a descriptor is passed with a frame")
        guard let buffer = monitor.shared.buffers[header.buffer] else {
            violate(.heldBuffersStay, "sender \(sender.index) sends a frame in a buffer that it has not announced")
            return nil
        }
        check(
            .heldBuffersStay,
            buffer.held == nil || !hasOurReceiver(monitor),
            "sender \(sender.index) sends a frame in buffer \(header.buffer), which its receiver has"
        )
        let image = SimImage(buffer.memory, header)
        monitor.shared.buffers[header.buffer]?.held = image
        monitor.shared.frames += 1
        guard let identity = image.identity else {
            violate(.integrity, "sender \(sender.index) shares an image that was never submitted")
            return nil
        }
        checkChangedRows(image, monitor)
        return identity
    }

    private func checkChangedRows(_ image: SimImage, _ monitor: SenderMonitor) {
        let header = image.header
        let (width, height) = (header.info.bufferSize.width, header.info.bufferSize.height)
        var rows: [UInt8] = []
        rows.reserveCapacity(width * height)
        for row in 0..<height { unsafe rows.append(contentsOf: image.row(row)) }
        defer { monitor.shared.last = (header, rows) }
        guard let changed = header.changedRows else { return }
        guard let (last, old) = monitor.shared.last, last.info.bufferSize == header.info.bufferSize,
            last.info.orientation == header.info.orientation, last.format == header.format
        else { return violate(.changedRows, "changed rows are stated of an image that has no like before it") }
        for row in 0..<height where !changed.contains(row) {
            let range = row * width..<(row + 1) * width
            check(.changedRows, rows[range] == old[range], "row \(row) has changed, and \(changed) are stated")
            guard violation == nil else { return }
        }
    }

    /// Whether a receiver has memory, of a sender that still can write to it.
    func isHeld(_ memory: SharedMemory) -> Bool {
        for monitor in monitors where monitor.shared.frames > 0 {
            guard monitor.shared.isAccepted, hasOurReceiver(monitor) else { continue }
            let isHeld = monitor.shared.buffers.contains { $0?.memory === memory && $0?.held != nil }
            if isHeld { return true }
        }
        return false
    }

    // MARK: What the sender reads

    /// A receiver says whether it accepts shared memory.
    func helloRead(_ hello: ControlRequest.Hello, _ monitor: SenderMonitor) {
        if hello.sharedMemory == nil || sockets[monitor.socket].isTCP { return declineRead(monitor) }
        if !monitor.shared.hasDeclined { monitor.shared.isAccepted = true }
    }

    func releaseRead(_ buffer: Int, _ monitor: SenderMonitor) {
        noteRead("release of buffer \(buffer)", monitor)
        guard checkHelloCame(before: "release", monitor), monitor.shared.isAccepted else { return }
        let held = monitor.shared.buffers[buffer]?.held
        if hasOurReceiver(monitor) {
            check(.releasesAreOnce, held != nil, "buffer \(buffer) is released, which its receiver does not have")
            if let held { check(.heldBuffersStay, held.isUnchanged, "buffer \(buffer) changed before its release") }
        }
        monitor.shared.buffers[buffer]?.held = nil
    }

    func declineRead(_ monitor: SenderMonitor) {
        guard !monitor.shared.hasDeclined else { return }
        monitor.shared.hasDeclined = true
        guard monitor.shared.isAccepted else { return }
        monitor.shared.isAccepted = false
        monitor.shared.isUnderWay = !monitor.isBetweenMessages || monitor.announcedAt != nil
        for buffer in monitor.shared.buffers.indices { monitor.shared.buffers[buffer]?.held = nil }
        if monitor.shared.isLastShared { askAfterDecline(monitor) }
    }

    /// The latest frame went out in shared memory, and its receiver, which has declined, may have skipped it.
    private func askAfterDecline(_ monitor: SenderMonitor) {
        guard monitor.wants.contains(.frames) else { return }
        coverage.count(.latestFrameAfterDecline)
        guard !monitor.isPauseAsked else { return monitor.hasReasonToRepeat = true }
        let isAsked = monitor.frameAskedAt != nil
        askForFrame(monitor)
        monitor.shared.isAskedByDecline = !isAsked
    }

    /// A frame in shared memory is complete, which may have been under way when a decline was read.
    func sharedFrameEnds(_ monitor: SenderMonitor) {
        monitor.shared.isLastShared = true
        if monitor.shared.hasDeclined { askAfterDecline(monitor) }
    }

    /// A JPEG begins, part of whose header may have been written before a decline was read: the latest frame was no
    /// longer in shared memory then, and is not repeated.
    func jpegBegins(_ monitor: SenderMonitor) {
        monitor.shared.isLastShared = false
        if monitor.shared.isAskedByDecline { monitor.frameAskedAt = nil }
    }

    // MARK: When everything rests

    /// What programs have released is back with its sender.
    func checkShared() {
        for monitor in monitors where monitor.shared.isAccepted && isCurrent(monitor) {
            let peer = sockets[monitor.socket].peer
            guard let receiver = receivers.first(where: { $0.socket == peer }), isResting(receiver, monitor) else {
                continue
            }
            let held = monitor.shared.heldCount
            check(
                .releasesAreOnce,
                held <= receiver.loanCount,
                "\(held) buffers are not released, and the program of connection \(receiver.index) has \(receiver.loanCount)"
            )
        }
    }

    private func isResting(_ receiver: SimReceiver, _ monitor: SenderMonitor) -> Bool {
        receiver.closeReason == nil && receiver.frames.waiter != nil && !receiver.frames.hasBeenWoken
            && !receiver.isEnding && receiver.machine.outbox.bytes.isEmpty && !receiver.shared.hasDeclined
            && isAsleep(receiver.thread) && isAsleep(monitor.sender.thread)
            && sockets[monitor.socket].inbound.count == 0 && sockets[receiver.socket].inbound.count == 0
    }

    // MARK: Preferences

    /// A frame of one size has been written: it is the preferred size, or the preference was refused.
    func checkPreference(_ header: FrameHeader, _ number: UInt32, _ monitor: SenderMonitor) {
        let sender = monitor.sender
        let offer = sender.offers[Int(number) - 1]
        guard offer.isImage, offer.revision == sender.terms.revision, let box = sender.terms.preferences.size else {
            return
        }
        guard let look = sender.encoded[number]?.look else { return }
        check(
            .preferencesAreAnswered,
            sender.isPreferred(header.bufferSize, of: offer, in: box, look) || monitor.refusals > 0,
            "frame \(number) is \(header.bufferSize), its receiver prefers \(box), and nothing was refused"
        )
    }
}
