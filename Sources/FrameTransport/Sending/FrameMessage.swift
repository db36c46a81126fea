public import FrameWire

/// A frame to send: what its header states, and a JPEG.
///
/// The properties of ``info`` can be used directly: `message.timestamp`. A value behind one reference, since it is passed
/// on many times.
@dynamicMemberLookup
public struct FrameMessage: Sendable {
    package indirect enum Content: Sendable {
        case jpeg(FrameBytes, FrameInfo)
        /// The pixels are in memory that the receiver gets: nothing is written to it until the receiver has released it.
        case shared(SharedFrameHeader, SharedSource)
    }

    /// Where the pixels of a frame in shared memory are.
    package struct SharedSource: Sendable {
        /// The memory.
        package let memory: SharedMemory
        /// Whether the receiver does not have the memory yet, and is passed its descriptor.
        package let isNew: Bool
        /// The uploader that the buffer belongs to.
        package let owner: UInt64
    }

    package private(set) var content: Content

    /// Creates a message with `jpeg` as its body.
    public init(jpeg: FrameBytes, info: FrameInfo) {
        content = .jpeg(jpeg, info)
    }

    /// Creates the message for pixels in shared memory.
    package init(_ header: SharedFrameHeader, in memory: SharedMemory, isNew: Bool, owner: UInt64 = 0) {
        content = .shared(header, SharedSource(memory: memory, isNew: isNew, owner: owner))
    }

    /// The JPEG.
    public var jpeg: FrameBytes {
        // Only this package makes messages of the other kind, and knows which is which.
        if case .jpeg(let jpeg, _) = content { jpeg } else { FrameBytes([]) }
    }

    /// What the header states of the frame.
    public var info: FrameInfo {
        get {
            switch content {
            case .jpeg(_, let info): info
            case .shared(let header, _): header.info
            }
        }
        set {
            switch content {
            case .jpeg(let jpeg, _):
                content = .jpeg(jpeg, newValue)
            case .shared(var header, let source):
                header.info = newValue
                content = .shared(header, source)
            }
        }
    }

    /// A property of ``info``.
    public subscript<Value>(dynamicMember property: WritableKeyPath<FrameInfo, Value>) -> Value {
        get { info[keyPath: property] }
        set { info[keyPath: property] = newValue }
    }

    /// Where the pixels are, if they are in shared memory.
    package var shared: SharedSource? {
        if case .shared(_, let source) = content { source } else { nil }
    }
}
