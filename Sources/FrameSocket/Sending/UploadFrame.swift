internal import FrameTransport
package import FrameWire

/// A frame and its state, from submission to the wire.
///
/// A value in one reference, which the places that a frame goes through pass on: its fields are not copied on the way.
package struct UploadFrame: Sendable {
    private final class Fields: @unchecked Sendable {
        var content: FrameContent?
        var orientation: FrameOrientation
        let timestamp: UInt64
        var sourceTime: UInt64
        let offeredAt: UInt64
        var ticket: UInt64 = 0
        var sequence: UInt64?
        var digest: UInt64?
        var settingsEdition: UInt64?
        var plan: EncodingPlan?

        init(_ content: FrameContent?, _ orientation: FrameOrientation, timestamp: UInt64, offeredAt: UInt64) {
            (self.content, self.orientation) = (content, orientation)
            (self.timestamp, self.offeredAt) = (timestamp, offeredAt)
            sourceTime = timestamp
        }

        func copy() -> Fields {
            let copy = Fields(content, orientation, timestamp: timestamp, offeredAt: offeredAt)
            (copy.sourceTime, copy.ticket, copy.sequence) = (sourceTime, ticket, sequence)
            (copy.digest, copy.settingsEdition, copy.plan) = (digest, settingsEdition, plan)
            return copy
        }
    }

    private var fields: Fields

    /// The fields, to change: nobody else has them.
    private var own: Fields {
        mutating get {
            if !isKnownUniquelyReferenced(&fields) { fields = fields.copy() }
            return fields
        }
    }

    /// Creates a frame submitted at `offeredAt`, which is also its presentation time unless one is given.
    package init(
        _ content: FrameContent,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        offeredAt: UInt64
    ) {
        fields = Fields(content, orientation, timestamp: timestamp ?? offeredAt, offeredAt: offeredAt)
    }

    /// The content; nil while the encoder has it.
    var content: FrameContent? { fields.content }

    /// The orientation of the content.
    var orientation: FrameOrientation {
        get { fields.orientation }
        set { own.orientation = newValue }
    }

    /// The presentation time in nanoseconds.
    package var timestamp: UInt64 { fields.timestamp }

    /// The time on the source's clock, for the pacing: the presentation time, unless that stands still.
    var sourceTime: UInt64 {
        get { fields.sourceTime }
        set { own.sourceTime = newValue }
    }

    /// The time of submission, on the monotonic clock.
    package var offeredAt: UInt64 { fields.offeredAt }

    /// Its place in the order of submission, from 1.
    package internal(set) var ticket: UInt64 {
        get { fields.ticket }
        set { own.ticket = newValue }
    }

    /// The number that the receiver sees; nil until the frame is accepted for sending.
    package internal(set) var sequence: UInt64? {
        get { fields.sequence }
        set { own.sequence = newValue }
    }

    /// A hash of the content, if it has been computed.
    package var digest: UInt64? {
        get { fields.digest }
        set { own.digest = newValue }
    }

    /// The number of the encoder's settings when the content was scaled or encoded; nil before that.
    var settingsEdition: UInt64? {
        get { fields.settingsEdition }
        set { own.settingsEdition = newValue }
    }

    /// The plan for encoding this content; nil if none has been made, or the frame is sent unchanged.
    var plan: EncodingPlan? {
        get { fields.plan }
        set { own.plan = newValue }
    }

    /// Hands over the content, to be encoded by the plan.
    mutating func takeContent() -> FrameContent? { own.content.take() }

    /// Takes the content back, unchanged.
    mutating func putBack(_ content: FrameContent) {
        own.content = content
    }

    /// Replaces the content, and its plan, with what became of the content.
    mutating func become(_ content: FrameContent) {
        own.content = content
        plan = nil
    }

    /// Notes that the content, which is sent as it is, is an image in a shared buffer.
    mutating func recognize(_ image: BufferedImage) {
        own.content = .shared(image)
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
    func message(withTiming sendsTiming: Bool, isNew: Bool) -> FrameMessage? {
        switch content {
        case .shared(let image):
            let size = BufferSize(width: image.pixels.width, height: image.pixels.height)
            return image.message(info(of: size, withTiming: sendsTiming), isNew: isNew)
        case .encoded(let jpeg, let bufferSize):
            return FrameMessage(jpeg: jpeg, info: info(of: bufferSize, withTiming: sendsTiming))
        case .pixels, .scaled, .jpeg, .resizableJPEG, nil:
            return nil
        }
    }

    private func info(of size: BufferSize, withTiming sendsTiming: Bool) -> FrameInfo {
        FrameInfo(
            bufferSize: size,
            orientation: orientation,
            timestamp: sendsTiming ? timestamp : nil,
            sequence: sendsTiming ? sequence : nil
        )
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
