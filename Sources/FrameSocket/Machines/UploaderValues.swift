package import FrameTransport
internal import FrameWire
internal import TurboJPEG

extension UploaderMachine {
    /// An image that was submitted, and what became of it.
    struct Frame: Sendable {
        enum State: Sendable, Hashable {
            /// It is being encoded or sent, or is the next one.
            case pending
            case sent
            /// It is not sent now; the statistics count it as dropped until it is.
            case deferred(SampleUploader.DropCause)
            case dropped(SampleUploader.DropCause)
        }

        /// Its place in the order of submission, from 1; 0 for no frame.
        var ticket: UInt64
        /// The presentation time in nanoseconds.
        var timestamp: UInt64 = 0
        /// The time on the source's clock, for the pacing.
        var sourceTime: UInt64 = 0
        /// The time of submission, on the monotonic clock.
        let offeredAt: UInt64
        /// Since when the source has shown this.
        var changedAt: UInt64
        var orientation = FrameOrientation.up
        /// The number of the settings by which it should look.
        var look = 0 { didSet { if look != oldValue { refusal = nil } } }
        /// What is made of the content for that; nil for a JPEG that is sent as it is.
        var recipe: EncodingRecipe?
        /// The size of what is sent.
        private var size = BufferSize(width: 0, height: 0)
        /// The size of the JPEG that it is, if that is sent as it is, or rotated.
        private(set) var byteCount: Int?
        /// Why it cannot be sent as it looks; nil if it can, or if that is not known.
        var refusal: SampleUploader.DropCause?
        /// A hash of the content, if it has been computed.
        var digest: UInt64?
        /// The number that the receiver sees.
        var number: UInt64?
        var state: State
        /// Whether the caller has been told of a newer one that was dropped at once.
        var isOutdated = false

        /// No frame, of which nothing is expected.
        init() { (ticket, offeredAt, changedAt, state) = (0, 0, 0, .sent) }

        init(_ ticket: UInt64, _ timestamp: UInt64, _ orientation: FrameOrientation, at now: UInt64) {
            (self.ticket, self.timestamp, self.orientation) = (ticket, timestamp, orientation)
            (offeredAt, changedAt, state) = (now, now, .pending)
        }

        /// Notes how it should look, and what is made of its content for that.
        mutating func follow(_ look: Int, _ recipe: EncodingRecipe?, _ content: FrameContent) {
            (self.look, self.recipe, size) = (look, recipe, recipe?.output.canvas ?? content.size)
            byteCount =
                switch content {
                case .jpeg(let jpeg, _): jpeg.count
                case .resizableJPEG(let jpeg, _): recipe == nil ? jpeg.count : nil
                case .pixels, .scaled: nil
                }
        }

        /// Whether a receiver with these limits accepts it, as far as that is known before it is encoded.
        func isWithin(_ limits: FrameMessageDecoder.Limits) -> Bool {
            limits.accept(size) && (recipe != nil || byteCount ?? 0 <= limits.maximumContentLength)
        }

        var isFinal: Bool {
            switch state {
            case .pending, .deferred: false
            case .sent, .dropped: true
            }
        }

        /// Whether it has been sent, or equals one that has.
        var isGiven: Bool {
            switch state {
            case .sent, .dropped(.unchanged), .dropped(.paced): true
            case .pending, .deferred, .dropped: false
            }
        }

        /// Is from now on the older frame that it equals.
        mutating func become(_ other: Frame) {
            (timestamp, changedAt, digest, number) = (other.timestamp, other.changedAt, other.digest, other.number)
        }
    }

    /// A frame that is being encoded or sent; as it is at first, if none is.
    struct Work: Sendable {
        enum Stage: Sendable { case none, encoding, sending }

        var stage = Stage.none
        var frame = Frame()
        /// The JPEG that was made of it.
        var message: FrameMessage?
        /// The shared buffer that it is copied to; nil for a JPEG.
        var place: Sharing.Place?
        /// The quality that it is encoded at, if that follows what is possible.
        var quality: Int?
        /// The connection for which it was begun, then the one to which it was submitted.
        var connection = 0
        /// The terms under which it was submitted.
        var revision: UInt64 = 0
        /// When encoding, or sending, began.
        var beganAt: UInt64 = 0
        /// Whether it has been sent before, or equals a frame that has.
        var isRepeat = false
        var isSharpening = false
        /// Whether it got its number for this.
        var isNumbered = false

        var isShared: Bool { place != nil }
    }

    /// The JPEG that was made last.
    struct Encoded: Sendable {
        var frame = Frame()
        /// The JPEG; nil for none.
        var message: FrameMessage?
        private(set) var byteCount = 0
        private var size = BufferSize(width: 0, height: 0)
        /// The quality, if that followed what was possible.
        private(set) var quality: Int?

        init() {}

        init(_ frame: Frame, _ message: FrameMessage, _ quality: Int?) {
            (self.frame, self.message, self.quality) = (frame, message, quality)
            (byteCount, size) = (message.jpeg.count, message.info.bufferSize)
        }

        /// Whether there is one, and a receiver with these limits accepts it.
        func isWithin(_ limits: FrameMessageDecoder.Limits) -> Bool {
            message != nil && limits.accept(size) && byteCount <= limits.maximumContentLength
        }
    }

    /// What the receiver has been given last.
    struct Given: Sendable {
        var frame = Frame()
        var isShared = false
        /// The quality, if that followed what was possible.
        var quality: Int?
        /// When that was sent, or handed over if it has not been sent yet.
        var at: UInt64 = 0
        /// The ticket of a newer frame that is known to show the same.
        var equal: UInt64 = 0
    }

    /// How a lack is met, and when.
    struct Step: Sendable {
        /// How what is sent is made.
        enum Form: Sendable {
            /// It has been made.
            case made
            case encode
            case share(Sharing.Place)
        }

        let form: Form
        let lack: Lack
        let time: UInt64

        init(_ form: Form, _ lack: Lack, at time: UInt64) {
            (self.form, self.lack, self.time) = (form, lack, time)
        }

        /// The earlier of two steps, of which the first may be due.
        static func earlier(_ first: Step?, _ second: Step?, at now: UInt64) -> Step? {
            guard let first, let second else { return first ?? second }
            return first.time > now && second.time < first.time ? second : first
        }
    }

    /// What a receiver lacks.
    enum Lack: Sendable {
        /// The newest image.
        case image
        /// It has the newest image in another size or quality than it prefers by now.
        case look
        /// It has the newest image at less than the highest quality.
        case sharpness
        /// A sign that the sender is there.
        case life
    }

    /// The effects of an event, to be performed outside any lock.
    package struct Effects: Sendable {
        /// Whether to call ``UploaderMachine/beginUpload(unread:at:)``, on a thread that may encode.
        package internal(set) var startsUpload = false

        /// Whether to pass the number of bytes that the receiver has not read yet, if the system tells.
        package internal(set) var asksUnread = false

        /// A message to submit; report the outcome with ``UploaderMachine/sent(_:at:)`` or
        /// ``UploaderMachine/sharingRefused(at:)``.
        package internal(set) var message: FrameMessage?

        /// The number of the connection that the message is for.
        package internal(set) var connection = 0

        /// Whether ``UploaderMachine/timer`` has changed: the time at which to call
        /// ``UploaderMachine/deadlinePassed(at:)``.
        package internal(set) var setsTimer = false

        /// The waiters to resume.
        package internal(set) var finished: [UInt64] = []

        /// Whether the rate of the pacing in effect may have changed, which the connection is to state.
        package internal(set) var statesRate = false

        /// Whether the difficulties have changed, which are among the statistics.
        package internal(set) var tellsConditions = false

        /// A generation of shared memory; earlier ones are to be released.
        package internal(set) var dropsBuffersBefore: UInt64?

        /// What is to be released, because the owners of its memory may run any code.
        ///
        /// One event usually replaces one image and one JPEG, which needs no allocation.
        private var content: FrameContent?
        private var replaced: FrameMessage?
        private var others: [any Sendable]?

        mutating func discard(_ content: FrameContent?) {
            guard let content else { return }
            if self.content == nil { self.content = content } else { others = (others ?? []) + [content] }
        }

        mutating func discard(_ message: FrameMessage?) {
            guard let message else { return }
            if replaced == nil { replaced = message } else { others = (others ?? []) + [message] }
        }

        /// Whether anything was discarded.
        var discards: Bool { content != nil || replaced != nil }

        /// Releases what was discarded.
        package mutating func release() { (content, replaced, others) = (nil, nil, nil) }

        /// Whether there is nothing to do except to release what was discarded.
        package var isEmpty: Bool {
            !startsUpload && message == nil && !setsTimer && finished.isEmpty && !statesRate && !tellsConditions
                && dropsBuffersBefore == nil
        }
    }

    /// The decision on an image to be copied when submitted.
    package enum CopyAdmission: Sendable {
        /// Copy it by this recipe, and pass the copy to ``UploaderMachine/offer(_:orientation:timestamp:damage:entry:at:)`` with
        /// its number.
        case copy(EncodingRecipe, entry: UInt64)
        /// The outcome is decided.
        case decided(SampleUploader.Outcome)
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
