package import FrameWire

/// A frame to send, in either form.
package enum FrameSubmission: Sendable {
    case jpeg(FrameMessage)
    case shared(SharedFrameMessage)
}

/// A frame to send whose pixels are in shared memory.
package struct SharedFrameMessage: Sendable {
    /// The header.
    package var header: SharedFrameHeader

    /// The memory, to which nothing is written until the receiver has released it.
    package var memory: SharedMemory

    /// Whether the receiver does not have the memory yet, and is passed its descriptor.
    package var isNew: Bool

    package init(header: SharedFrameHeader, memory: SharedMemory, isNew: Bool) {
        (self.header, self.memory, self.isNew) = (header, memory, isNew)
    }
}
