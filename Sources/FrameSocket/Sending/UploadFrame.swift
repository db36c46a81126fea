internal import FrameTransport
package import FrameWire

/// A frame and its state, from submission to the wire.
package struct UploadFrame: Sendable {
    /// The content; nil while the encoder has it.
    private(set) var content: FrameContent?

    /// The orientation of the content.
    var orientation: FrameOrientation

    /// The presentation time in nanoseconds.
    package let timestamp: UInt64

    /// The time on the source's clock, for the pacing: the presentation time, unless that stands still.
    var sourceTime: UInt64

    /// The time of submission, on the monotonic clock.
    package let offeredAt: UInt64

    /// Its place in the order of submission, from 1.
    package internal(set) var ticket: UInt64 = 0

    /// The number that the receiver sees; nil until the frame is accepted for sending.
    package internal(set) var sequence: UInt64?

    /// A hash of the content, if it has been computed.
    package var digest: UInt64?

    /// The number of the encoder's settings when the content was scaled or encoded; nil before that.
    var settingsEdition: UInt64?

    /// The plan for encoding this content; nil if none has been made, or the frame is sent unchanged.
    var plan: EncodingPlan?

    /// Creates a frame submitted at `offeredAt`, which is also its presentation time unless one is given.
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
        sourceTime = self.timestamp
    }

    /// Hands over the content, to be encoded by the plan.
    mutating func takeContent() -> FrameContent? { content.take() }

    /// Takes the content back, unchanged.
    mutating func putBack(_ content: FrameContent) {
        self.content = content
    }

    /// Replaces the content, and its plan, with what became of the content.
    mutating func become(_ content: FrameContent) {
        self.content = content
        plan = nil
    }

    /// Notes that the content, which is sent as it is, is an image in a shared buffer.
    mutating func recognize(_ image: BufferedImage) {
        content = .shared(image)
    }

    /// The bytes that the frame keeps in memory.
    var byteCount: Int { content?.byteCount ?? 0 }

    /// The maximum number of bytes that the frame takes while it is encoded.
    var totalByteCount: Int { plan?.need.total ?? byteCount }

    /// Whether a receiver with these limits accepts the frame, as far as that is known before it is encoded.
    func isWithin(_ limits: WireLimits) -> Bool {
        if let plan { return limits.accept(plan.output.canvas) }
        guard let content else { return true }
        return limits.accept(content.size) && content.byteCount <= limits.maximumContentLength
    }

    /// Whether the frame can be sent without encoding.
    var isEncoded: Bool {
        if case .encoded = content { true } else { false }
    }

    /// The frame's image in a shared buffer, if it is in one.
    var bufferedImage: BufferedImage? {
        if case .shared(let image) = content { image } else { nil }
    }

    /// Returns the message that carries the frame; nil before it is encoded, or copied to a shared buffer.
    ///
    /// - Parameters:
    ///   - sendsTiming: Whether the message states the frame's time and number.
    ///   - isNew: Whether the receiver does not have the shared buffer yet.
    /// - Returns: The message, or nil.
    func message(withTiming sendsTiming: Bool, isNew: Bool) -> FrameSubmission? {
        switch content {
        case .shared(let image):
            return image.message(for: self, withTiming: sendsTiming, isNew: isNew).map(FrameSubmission.shared)
        case .encoded(let jpeg, let bufferSize):
            return .jpeg(
                FrameMessage(
                    jpeg: jpeg,
                    bufferSize: bufferSize,
                    orientation: orientation,
                    timestamp: sendsTiming ? timestamp : nil,
                    sequence: sendsTiming ? sequence : nil
                )
            )
        case .pixels, .scaled, .jpeg, .resizableJPEG, nil:
            return nil
        }
    }
}

extension WireLimits {
    /// Returns whether a receiver with these limits accepts an image of this size.
    func accept(_ size: BufferSize) -> Bool {
        guard size.width > 0, size.height > 0, max(size.width, size.height) <= maximumDimension else { return false }
        let (count, overflows) = size.width.multipliedReportingOverflow(by: size.height)
        return !overflows && count <= maximumPixels
    }
}
