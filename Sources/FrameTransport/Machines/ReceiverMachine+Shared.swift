internal import FrameWire

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
            case .skip: break
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
