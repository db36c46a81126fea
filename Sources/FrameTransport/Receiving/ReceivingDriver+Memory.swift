internal import FrameWire

// The memory of one connection: what its sender shares, the parts of the budget, and what a departed sender leaves.

extension ReceivingDriver {
    // MARK: Shared memory

    /// Maps the memory whose descriptor has arrived.
    func map(_ header: SharedFrameHeader.Buffer) {
        do throws(SharedMapping.Refusal) {
            try mappings.map(header) { [weak self] in
                guard let self else { return }
                thread.execute { [weak self] in self?.change { $0.sharedMemoryRevoked() } }
            }
            machine.bufferMapped(header)
        } catch {
            switch error {
            case .invalid(let error): machine.bufferRefused(error)
            case .scarce: machine.bufferRefused(nil)
            }
        }
    }

    /// Returns a frame with its image, whose last reference releases the buffer.
    func shared(_ frame: Frame, _ header: SharedFrameHeader) -> Frame {
        var frame = frame
        // A frame that is kept does not keep the thread.
        let image = mappings.image(header) { [weak self] in
            guard let self else { return }
            thread.execute { [weak self] in self?.change { $0.bufferReleased(header.buffer) } }
        }
        if let image { frame.content = .shared(image) }
        return frame
    }

    // MARK: Budget

    /// Requests memory for a large body.
    func ask(for byteCount: Int, request: Int) {
        let answer = memory.ask(byteCount) { [weak self, thread] grant in
            thread.execute { [weak self] in
                self?.change { $0.memoryGranted(grant, for: request, at: MonotonicClock.now()) }
            }
        }
        switch answer {
        case .granted(let grant): machine.memoryGranted(grant, for: request, at: MonotonicClock.now())
        case .waiting(let id): lastRequest = id
        }
    }

    func withdrawRequest() {
        if let request = lastRequest.take() { memory.withdraw(request) }
    }

    /// Returns the grants of unconsumed messages, and keeps the messages as long as their memory is not needed.
    func keepUnread() {
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
