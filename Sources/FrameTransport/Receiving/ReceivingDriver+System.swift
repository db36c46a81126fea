internal import FrameWire
internal import Locking

/// What the machine calls, on the connection's thread.
extension ReceivingDriver: ReceiverMachine.System {
    var now: UInt64 { MonotonicClock.now() }

    // MARK: The socket

    func read(into first: MemoryRun, _ second: MemoryRun) throws(Errno) -> Transfer {
        guard let socket = descriptor?.rawValue else { return .wouldBlock }
        let transfer = try unsafe mappings.receive(from: socket, into: first, second)
        if let onRead, case .bytes(let count, _) = transfer {
            // Of the body, and after it.
            let direct = min(count, first.count)
            if direct > 0 { unsafe onRead(id, Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: first[..<direct]))) }
            if count > direct {
                let spilled = unsafe UnsafeRawBufferPointer(rebasing: second[..<(count - direct)])
                unsafe onRead(id, Span(_unsafeBytes: spilled))
            }
        }
        return transfer
    }

    func readToken(into run: MemoryRun) throws(Errno) -> Transfer {
        guard let socket = descriptor?.rawValue else { return .wouldBlock }
        return try unsafe mappings.receive(from: socket, into: run, .empty)
    }

    /// Reads and discards; the system closes what is passed with the bytes.
    func discard() throws(Errno) -> Transfer {
        guard let socket = descriptor?.rawValue else { return .wouldBlock }
        let transfer = try unsafe withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) {
            scratch throws(Errno) in
            try unsafe Syscalls.receive(from: socket, into: scratch)
        }
        if wasReady, case .bytes(let count, _) = transfer { discardedByteCount += count }
        return transfer
    }

    func takeArrivals() -> (count: Int, areLost: Bool)? { mappings.takeArrivals() }

    func write(_ requests: [UInt8]) throws(Errno) -> Transfer {
        guard let socket = descriptor?.rawValue else { return .wouldBlock }
        return try Syscalls.send(to: socket, requests[...])
    }

    func writeToken() throws(TransportError) {
        if let socket = descriptor?.rawValue { try tokens?.show(to: socket) }
    }

    func shutDownSending() { if let socket = descriptor?.rawValue { Syscalls.shutdownSending(socket) } }
    func shutDownReceiving() { if let socket = descriptor?.rawValue { Syscalls.shutdownReceiving(socket) } }

    func yield() {
        thread.executeAfterPoll { self.change { $0.resume(self) } }
    }

    var isCrowded: Bool { thread.isCrowded }

    // MARK: The server and the program

    func keepPlace() -> Bool { decide(keepsPlace: true) }

    func present() {
        wasReady = true
        onReady?()
        onReady = nil
    }

    var hasUntakenFrames: Bool { mailbox.hasUntaken }

    func reserveRoom(onceEmpty: Bool) -> (room: Int, waitingByteCount: Int) {
        let (room, weight) = mailbox.reserve(onceEmpty: onceEmpty)
        return (room, weight)
    }

    func deliver(_ frame: consuming Frame, more: Bool) {
        frame.isCounted = countedBody > 0
        countedBody = 0
        let weight = frame.memoryByteCount
        if !mailbox.put(frame, weight: weight, more: more) { onDiscarded(1, 0) }
        hasHeldBack = hasHeldBack || more
    }

    func deliver(_ frame: consuming Frame, in header: SharedFrameHeader, more: Bool) {
        if let image = mappings.image(header) { frame.content = .shared(image) }
        deliver(frame, more: more)
    }

    func deliver(_ block: AudioBlock) { audio.put(block, weight: block.bytes.capacity) }
    func deliver(_ status: SenderStatus) { statuses.put(status) }
    func deliver(_ info: ControlRequest.SessionInfo) { self.info.change(to: info) }
    func countDroppedAudio() { droppedAudio.increment() }

    // MARK: Memory

    func askForMemory(byteCount: Int) -> Bool {
        guard memory.admit(byteCount) else { return false }
        countedBody = byteCount
        return true
    }

    func withdrawRequestForMemory() { memory.withdraw() }

    func map(_ header: SharedFrameHeader.Buffer) throws(TransportError) -> Bool {
        do throws(SharedMapping.Refusal) {
            try mappings.map(header)
            return true
        } catch {
            if case .invalid(let error) = error { throw error }
            return false
        }
    }

    func dropDescriptor() { mappings.dropDescriptor() }
    func unmapBuffers() { mappings.removeAll() }

    // MARK: Ending

    func endDelivery(_ reason: CloseReason) {
        releaseCountedBody()
        endMailboxes(nil, for: reason)
    }

    /// Releases the memory of a body that does not come to its end.
    private func releaseCountedBody() {
        if countedBody > 0 { memory.release(countedBody) }
        countedBody = 0
    }

    private func endMailboxes(_ error: TransportError?, for reason: CloseReason) {
        // Set first, so that whoever sees the end of the frames finds the reason.
        closeReason.withLock { $0 = reason }
        mailbox.end(error)
        audio.end()
        statuses.end()
        info.end()
    }

    func close(_ reason: CloseReason) {
        registration?.cancel()
        registration = nil
        descriptor = nil
        mappings.close()
        // Before the end is known, so that whoever learns of it finds the memory free.
        releaseCountedBody()
        closed.set(reason)
        endMailboxes(reason.error, for: reason)
        memory.depart(leaving: mailbox.weight + audio.weight)
        // The last message may have been taken meanwhile.
        forgetIfConsumed()
        if discardedByteCount > 0 { onDiscarded(0, discardedByteCount) }
        onClosed?(wasReady)
        (onReady, onClosed) = (nil, nil)
    }

    /// Drops what the sender has left unread, from any thread.
    func dropUnread() {
        let error = TransportError(
            .departedSenderDropped,
            "the sender of connection \(id) has left, and its unread frames were dropped because their memory was needed"
        )
        mailbox.discard(error)
        audio.discard()
        onDropped?()
    }
}
