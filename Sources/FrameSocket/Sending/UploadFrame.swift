internal import FrameTransport
package import FrameWire

/// A frame and its state, from submission to the wire.
///
/// A value in one reference, which the places that a frame goes through pass on: its fields are not copied on the way.
package struct UploadFrame: Sendable {
    private final class Fields: @unchecked Sendable {
        var content: FrameContent?
        var jpeg: FrameMessage?
        var info: FrameInfo
        let timestamp: UInt64
        var sourceTime: UInt64
        let offeredAt: UInt64
        var ticket: UInt64 = 0
        var digest: UInt64?
        var look: UInt64?
        var decidedFor: UInt64? = 0
        var recipe: EncodingRecipe?
        var quality: Quality?
        var isKnown = false
        var excludedBy: UInt64?

        init(_ content: FrameContent?, _ info: FrameInfo, timestamp: UInt64, offeredAt: UInt64) {
            (self.content, self.info) = (content, info)
            (self.timestamp, self.offeredAt) = (timestamp, offeredAt)
            sourceTime = timestamp
        }

        func copy() -> Fields {
            let copy = Fields(content, info, timestamp: timestamp, offeredAt: offeredAt)
            (copy.jpeg, copy.sourceTime, copy.ticket) = (jpeg, sourceTime, ticket)
            (copy.digest, copy.look, copy.decidedFor, copy.recipe) = (digest, look, decidedFor, recipe)
            (copy.quality, copy.isKnown, copy.excludedBy) = (quality, isKnown, excludedBy)
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
        let info = FrameInfo(bufferSize: content.size, orientation: orientation)
        fields = Fields(content, info, timestamp: timestamp ?? offeredAt, offeredAt: offeredAt)
    }

    // MARK: What the frame is

    var orientation: FrameOrientation { fields.info.orientation }

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
        get { fields.info.sequence }
        set { own.info.sequence = newValue }
    }

    /// Whether a receiver may have seen it under its number.
    var isKnown: Bool {
        get { fields.isKnown }
        set { own.isKnown = newValue }
    }

    /// A hash of the content, if it has been computed.
    package var digest: UInt64? {
        get { fields.digest }
        set { own.digest = newValue }
    }

    // MARK: What is sent of it

    /// What the frame is prepared from; nil while the encoder has it, or if it has been given up for its ``jpeg``.
    var content: FrameContent? { fields.content }

    /// The JPEG that was made of the content, or that the content was.
    var jpeg: FrameMessage? { fields.jpeg }

    /// The recipe for preparing this content; nil if none has been made, or the frame is sent unchanged.
    var recipe: EncodingRecipe? {
        get { fields.recipe }
        set { own.recipe = newValue }
    }

    /// The number of the encoder's settings when the content was scaled or encoded; nil before that.
    var look: UInt64? {
        get { fields.look }
        set { own.look = newValue }
    }

    /// The number of the encoder's settings when it was last decided what to send of the frame.
    var decidedFor: UInt64? {
        get { fields.decidedFor }
        set { own.decidedFor = newValue }
    }

    /// A quality that follows what is possible.
    struct Quality: Sendable {
        let used: Int
        /// What it would be if anything were possible.
        let highest: Int
    }

    /// The number of the configuration whose limits it was outside of when it was to be sent again; nil for none.
    var excludedBy: UInt64? {
        get { fields.excludedBy }
        set { own.excludedBy = newValue }
    }

    /// The quality at which ``jpeg`` was made of the content; nil if it was not, or does not follow what is possible.
    var quality: Quality? {
        get { fields.quality }
        set { own.quality = newValue }
    }

    /// The size of the JPEG that is sent, if it is there already.
    var knownByteCount: Int? {
        if let jpeg = fields.jpeg { return jpeg.jpeg.count }
        return switch fields.content {
        case .jpeg(let jpeg, _): jpeg.count
        case .resizableJPEG(let jpeg, _): fields.recipe == nil ? jpeg.count : nil
        case .pixels, .scaled, nil: nil
        }
    }

    /// Returns the content to be prepared, and keeps it too if `keeps` is set.
    mutating func takeContent(keeps: Bool) -> FrameContent? {
        keeps ? fields.content : own.content.take()
    }

    mutating func putBack(_ content: FrameContent) {
        own.content = content
    }

    /// Records the JPEG that was made of the content.
    mutating func become(_ message: FrameMessage) {
        let own = own
        (own.jpeg, own.recipe) = (message, nil)
        if own.content.map({ !$0.isAdaptable }) ?? false { own.content = nil }
    }

    /// Records that the content has been copied to a shared buffer: the JPEG, if there is one, is of another time.
    mutating func becomeShared() {
        guard jpeg != nil else { return }
        let own = own
        (own.jpeg, own.quality) = (nil, nil)
    }

    var hasPixels: Bool { content?.pixels != nil }

    // MARK: Memory

    /// Whether the frame can be sent without its image.
    var hasSpare: Bool { jpeg != nil && content != nil }

    /// Gives up the image behind a JPEG, and returns it.
    mutating func takeSpare() -> FrameContent? {
        guard hasSpare else { return nil }
        let own = own
        own.recipe = nil
        return own.content.take()
    }

    /// Gives up the image while the encoder has it, and returns it.
    mutating func takeImage() -> FrameContent? {
        content == nil ? nil : own.content.take()
    }

    /// Takes over the image of a frame that shows the same, if its own has been given up.
    mutating func adopt(_ other: borrowing UploadFrame) {
        guard jpeg != nil, content == nil, let image = other.content, image.isAdaptable else { return }
        own.content = image
    }

    /// Whether a receiver with these limits accepts the frame, as far as that is known before it is encoded.
    func isWithin(_ limits: FrameMessageDecoder.Limits) -> Bool {
        if let recipe { return limits.accept(recipe.output.canvas) }
        if let jpeg { return jpeg.isWithin(limits) }
        guard let content else { return true }
        return limits.accept(content.size) && knownByteCount ?? 0 <= limits.maximumContentLength
    }

    // MARK: The message

    /// Returns what a message states of the frame, with its time and number or without.
    func info(withTiming sendsTiming: Bool) -> FrameInfo {
        var info = fields.info
        info.timestamp = sendsTiming ? timestamp : nil
        if !sendsTiming { info.sequence = nil }
        return info
    }

    /// Returns the message that carries the frame's JPEG; nil if there is none.
    func message(_ info: consuming FrameInfo) -> FrameMessage? {
        guard let jpeg else { return nil }
        (info.bufferSize, info.orientation) = (jpeg.bufferSize, jpeg.orientation)
        return FrameMessage(jpeg: jpeg.jpeg, info: info)
    }
}

extension FrameMessage {
    /// Whether a receiver with these limits accepts the JPEG.
    func isWithin(_ limits: FrameMessageDecoder.Limits) -> Bool {
        limits.accept(info.bufferSize) && jpeg.count <= limits.maximumContentLength
    }
}

extension FrameMessageDecoder.Limits {
    /// Returns whether a receiver with these limits accepts an image of this size.
    func accept(_ size: BufferSize) -> Bool {
        guard size.width > 0, size.height > 0, max(size.width, size.height) <= maximumDimension else { return false }
        let (count, overflows) = size.width.multipliedReportingOverflow(by: size.height)
        return !overflows && count <= maximumPixels
    }
}
