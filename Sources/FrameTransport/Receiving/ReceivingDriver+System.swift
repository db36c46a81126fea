internal import FrameWire

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
        return try unsafe withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { scratch throws(Errno) in
            try unsafe Syscalls.receive(from: socket, into: scratch)
        }
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

    // MARK: The server and the program

    func keepPlace() -> Bool { place.keep() }

    func present() {
        wasReady = true
        onReady?()
        onReady = nil
    }

    func reserveRoom(onceEmpty: Bool) -> (room: Int, waitingByteCount: Int) {
        let (room, weight) = mailbox.reserve(onceEmpty: onceEmpty)
        return (room, weight)
    }

    func deliver(_ frame: consuming Frame, more: Bool) {
        counts.frames.increment()
        counts.bytes.add(frame.jpeg?.count ?? 0)
        frame.grant = grant.take()
        let weight = frame.memoryByteCount
        mailbox.put(frame, weight: weight, more: more)
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

    func askForMemory(byteCount: Int, request: Int) -> Bool {
        let answer = memory.ask(byteCount) { [weak self, thread] grant in
            thread.execute { [weak self] in
                // A grant that nothing waits for any longer is returned at once.
                guard let self, machine.awaitsMemory(request) else { return }
                self.grant = grant
                change { $0.memoryGranted(self) }
            }
        }
        switch answer {
        case .granted(let grant):
            self.grant = grant
            return true
        case .waiting(let id):
            lastRequest = id
            return false
        }
    }

    func withdrawRequestForMemory() {
        if let request = lastRequest.take() { memory.withdraw(request) }
    }

    func map(_ header: SharedFrameHeader.Buffer) throws(TransportError) -> Bool {
        do throws(SharedMapping.Refusal) {
            // From any thread; a frame keeps what calls this.
            try mappings.map(header) { [weak self] in
                self?.thread.execute { [weak self] in
                    guard let self else { return }
                    change { $0.sharedMemoryRevoked(self) }
                }
            }
            return true
        } catch {
            if case .invalid(let error) = error { throw error }
            return false
        }
    }

    func dropDescriptor() { mappings.dropDescriptor() }
    func unmapBuffers() { mappings.removeAll() }

    // MARK: Ending

    func endDelivery() {
        // Of a frame that does not come to its end.
        grant = nil
        endMailboxes(nil)
    }

    private func endMailboxes(_ error: TransportError?) {
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
        grant = nil
        memory.leave(allowance)
        // Set first, so that whoever sees the end of the frames finds the reason.
        closed.set(reason)
        endMailboxes(reason.error)
        keepUnread()
        onClosed?(wasReady)
        (onReady, onClosed) = (nil, nil)
    }

    /// Returns the grants of unconsumed messages, and keeps the messages as long as their memory is not needed.
    private func keepUnread() {
        // Other connections' requests may be granted when these are released, which is not done within the mailbox's lock.
        _ = mailbox.takeFromEach { $0.grant.take() }
        let (mailbox, audio, onDropped) = (mailbox, audio, onDropped)
        self.onDropped = nil
        unread.keep(mailbox.weight + audio.weight) {
            mailbox.count + audio.count == 0
        } drop: { [id] in
            let error = TransportError(
                .departedSenderDropped,
                "the sender of connection \(id) has left, and its unread frames were dropped because their memory "
                    + "was needed"
            )
            mailbox.discard(error)
            audio.discard()
            onDropped?()
        }
    }
}
