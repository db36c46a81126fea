package import FrameWire

/// Frames in shared memory.
extension ReceiverMachine {
    // MARK: Events

    /// Handles descriptors that arrived with the bytes of a read; reported before the read.
    ///
    /// None may come with a token, before anything can be announced.
    package mutating func didReceiveDescriptors(_ count: Int, areLost: Bool) {
        switch state {
        case .handshaking: finish(.failed(SharedBuffers.unannounced))
        case .receiving, .draining: shared.arrived(count, areLost: areLost)
        case .showingToken, .lingering, .closed: break
        }
    }

    /// Handles the mapping of an announced buffer.
    package mutating func bufferMapped(_ header: SharedFrameHeader.Buffer) {
        shared.mapped(header)
    }

    /// Handles an announced buffer that was not mapped: because it is not what it should be or, with nil, because this
    /// process has no room for it.
    package mutating func bufferRefused(_ error: TransportError?) {
        if let error { fail(error) } else { declineSharedMemory() }
    }

    /// Handles the program's release of the last frame in a buffer.
    package mutating func bufferReleased(_ index: Int) {
        shared.released(index)
        queueSharedRequests()
    }

    /// Handles that the memory of the buffers is needed for other connections.
    package mutating func sharedMemoryRevoked() {
        declineSharedMemory()
    }

    /// Accepts no further frames in shared memory.
    mutating func declineSharedMemory() {
        guard shared.terms == .accepted, closeReason == nil else { return }
        shared.decline()
        commands.append(.unmapBuffers)
        queueSharedRequests()
    }

    private mutating func queueSharedRequests() {
        if isReady, shared.queueRequests(in: &outbox) { commands.append(.writeRequests) }
    }

    // MARK: Messages

    /// Compares the descriptors that have arrived with the messages.
    ///
    /// - Throws: `sharedMemory` if one has not been announced.
    mutating func checkDescriptors(at event: FrameAssembler.Event) throws(TransportError) {
        switch event {
        case .incomplete: try shared.bytesEnded(isInHeader: assembler.phase == .header)
        case .sharedBuffer: break
        case .frame, .sharedFrame, .audio, .status, .skipped, .body: try shared.otherMessage()
        }
    }

    /// Handles an announcement.
    ///
    /// - Returns: What to do with its descriptor.
    mutating func announced(_ header: SharedFrameHeader.Buffer) -> Command? {
        do throws(TransportError) {
            switch try shared.announced(header) {
            case .map: return .mapBuffer(header)
            case .drop: return .dropDescriptor
            case .skip: return nil
            case .decline: declineSharedMemory()
            }
        } catch {
            fail(error)
        }
        return nil
    }

    /// Handles a frame in a shared buffer, for which the consumer has this much room.
    ///
    /// - Returns: The command that delivers it; nil if it is not delivered.
    mutating func delivery(of header: SharedFrameHeader, room: Int?) -> Command? {
        do throws(TransportError) {
            guard try shared.frame(header) else { return nil }
        } catch {
            fail(error)
            return nil
        }
        guard assembler.keepsFrames else {
            bufferReleased(header.buffer)
            shared.hasSkippedFrame = true
            return nil
        }
        var header = header
        // The stated rows are compared with a frame that the consumer does not have.
        if shared.hasSkippedFrame { header.changedRows = nil }
        shared.hasSkippedFrame = false
        useRoom(room)
        return .deliverShared(assembler.takeFrame(header, at: now), header, more: mayRead || assembler.hasMore)
    }
}
