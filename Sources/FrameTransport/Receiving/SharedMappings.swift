internal import FrameWire

/// The memory that the sender of one connection shares, and the descriptor that has arrived ahead of its announcement.
struct SharedMappings: ~Copyable {
    private let memory: FrameServer.MemoryBudget
    /// Whether descriptors are accepted; if not, the system closes those that arrive.
    private let isOpen: Bool
    private var passed = PassedDescriptors()
    /// Empty if no descriptors are accepted.
    private var mappings: [SharedMapping?]
    private let onRelease: @Sendable (_ index: Int) -> Void

    /// Creates it without any memory.
    ///
    /// - Parameters:
    ///   - memory: The budget that the mappings count in.
    ///   - isOpen: Whether descriptors are accepted.
    ///   - onRelease: Called with the index of a buffer, from any thread, when the last reference to an image in it is
    ///     released.
    init(_ memory: FrameServer.MemoryBudget, isOpen: Bool, onRelease: @escaping @Sendable (_ index: Int) -> Void) {
        (self.memory, self.isOpen, self.onRelease) = (memory, isOpen, onRelease)
        mappings = Array(repeating: nil, count: isOpen ? SharedFrameHeader.Buffer.indices.count : 0)
    }

    /// Reads from the socket, as `Syscalls.receive` does.
    mutating func receive(
        from socket: Int32,
        into first: MemoryRun,
        _ second: MemoryRun
    ) throws(Errno) -> Transfer {
        guard isOpen else { return try unsafe Syscalls.receive(from: socket, into: first, second) }
        return try unsafe Syscalls.receive(from: socket, into: first, second, passing: &passed)
    }

    /// Returns the number of descriptors that have arrived since the last call, if any, and whether any were lost on
    /// this side.
    mutating func takeArrivals() -> (count: Int, areLost: Bool)? { passed.takeArrivals() }

    /// Maps the first descriptor that has arrived, in place of earlier memory with the same index.
    ///
    /// - Returns: Whether this process has room for it.
    /// - Throws: `sharedMemory` if the memory is not what it should be.
    mutating func map(_ header: SharedFrameHeader.Buffer) throws(TransportError) -> Bool {
        remove(header.index)
        guard let descriptor = passed.take(),
            let mapping = try SharedMapping(descriptor, byteCount: header.byteCount),
            memory.change({ $0.map(header.byteCount) })
        else { return false }
        mappings[header.index] = mapping
        return true
    }

    /// Releases a buffer: what the program still holds no longer counts.
    private mutating func remove(_ index: Int) {
        guard let mapping = mappings[index].take() else { return }
        let byteCount = unsafe mapping.bytes.count
        memory.change { $0.unmap(byteCount) }
    }

    /// Returns the image of a frame.
    func image(_ header: SharedFrameHeader) -> Frame.SharedImage? {
        guard let mapping = mappings[header.buffer] else { return nil }
        return Frame.SharedImage(loan: SharedLoan(header, in: mapping, onRelease: onRelease))
    }

    /// Closes the first descriptor that has arrived.
    mutating func dropDescriptor() {
        _ = passed.take()
    }

    /// Closes the descriptors that have arrived, and releases the memory.
    mutating func close() {
        passed.removeAll()
        removeAll()
    }

    /// Releases the memory, except what frames still refer to.
    mutating func removeAll() {
        for index in mappings.indices { remove(index) }
    }
}
