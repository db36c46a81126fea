package import FrameWire

/// A frame to send, in either form.
package enum FrameSubmission: Sendable {
    case jpeg(FrameMessage)
    case shared(SharedFrameMessage)
}

/// A frame to send whose pixels are in shared memory.
package struct SharedFrameMessage: Sendable {
    /// The header.
    package var head: SharedFrameHead

    /// The memory, to which nothing is written until the receiver has released it.
    package var memory: SharedMemory

    /// Whether the receiver does not have the memory yet, and is passed its descriptor.
    package var isNew: Bool

    package init(head: SharedFrameHead, memory: SharedMemory, isNew: Bool) {
        (self.head, self.memory, self.isNew) = (head, memory, isNew)
    }
}
