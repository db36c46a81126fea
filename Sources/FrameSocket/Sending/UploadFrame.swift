internal import FrameTransport
package import FrameWire

/// One frame and all that is known of it, from its offer to the wire.
package struct UploadFrame: Sendable {
    /// What it consists of; nil while the encoder has it.
    var content: FrameContent?

    /// How the content lies.
    var orientation: FrameOrientation

    /// The presentation time in nanoseconds.
    package let timestamp: UInt64

    /// When it was offered, by the monotonic clock.
    package let offeredAt: UInt64

    /// Its place in the order of the offers, from 1.
    package internal(set) var ticket: UInt64 = 0

    /// The number that the receiver sees; nil until the frame is accepted for sending.
    package internal(set) var sequence: UInt64?

    /// A hash of the content, if it has been computed.
    package var digest: UInt64?

    /// How it is encoded; nil if it is sent as it is.
    var plan: EncodingPlan?

    /// A frame that is offered at `offeredAt`; that is its presentation time too unless one is given.
    package init(
        _ content: FrameContent,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        offeredAt: UInt64
    ) {
        self.content = content
        self.orientation = orientation
        self.timestamp = timestamp ?? offeredAt
        self.offeredAt = offeredAt
    }

    /// The bytes that the frame keeps in memory.
    var byteCount: Int { content?.byteCount ?? 0 }

    /// The bytes that it takes at most, while it is encoded.
    var totalByteCount: Int { plan?.need.total ?? byteCount }

    /// Whether it can be sent without encoding.
    var isEncoded: Bool {
        if case .encoded = content { true } else { false }
    }

    /// The message that carries it; nil before it is encoded.
    func message(withTiming sendsTiming: Bool) -> FrameMessage? {
        guard case .encoded(let jpeg, let bufferSize) = content else { return nil }
        return FrameMessage(
            jpeg: jpeg,
            bufferSize: bufferSize,
            orientation: orientation,
            timestamp: sendsTiming ? timestamp : nil,
            sequence: sendsTiming ? sequence : nil
        )
    }
}
