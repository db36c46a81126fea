internal import FrameWire

/// The memory that the sender shares, and the descriptor that has arrived ahead of its announcement.
extension ReceivingDriver {
    /// Reads once, with the descriptors that arrive with the bytes, if they are accepted; if not, the system closes them.
    func receive(into first: MemoryRun, _ second: MemoryRun) throws(Errno) -> Transfer {
        guard let socket else { return .wouldBlock }
        if unsafe mappings.isEmpty { return try unsafe Syscalls.receive(from: socket, into: first, second) }
        return try unsafe Syscalls.receive(from: socket, into: first, second, passing: &passed)
    }

    func takeArrivals() -> (count: Int, areLost: Bool)? { unsafe passed.takeArrivals() }

    /// Maps the first descriptor that has arrived, in place of earlier memory with the same index.
    func map(_ header: SharedFrameHeader.Buffer) throws(TransportError) -> Bool {
        unmap(header.index)
        guard let descriptor = unsafe passed.take(),
            let mapping = try SharedMapping(descriptor, byteCount: header.byteCount),
            memory.change({ $0.map(header.byteCount) })
        else { return false }
        unsafe mappings[header.index] = mapping
        return true
    }

    /// Releases a buffer: what the program still holds no longer counts.
    private func unmap(_ index: Int) {
        guard let mapping = unsafe mappings[index].take() else { return }
        let byteCount = unsafe mapping.bytes.count
        memory.change { $0.unmap(byteCount) }
    }

    func deliver(_ frame: consuming Frame, in header: SharedFrameHeader, more: Bool) {
        if let mapping = unsafe mappings[header.buffer] {
            frame.content = .shared(Frame.SharedImage(loan: SharedLoan(header, in: mapping, onRelease: onImageRelease)))
        }
        deliver(frame, more: more)
    }

    func dropDescriptor() { _ = unsafe passed.take() }
    func unmapBuffers() { for index in unsafe mappings.indices { unmap(index) } }
}
