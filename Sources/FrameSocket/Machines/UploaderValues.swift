package import FrameTransport
internal import FrameWire
internal import TurboJPEG

extension UploaderMachine {
    /// The settings of the encoder, which are compared by value, and most often are the same.
    final class Look: Sendable, Equatable {
        let settings: EncodingRecipe.Settings

        init(_ configuration: Configuration) { settings = EncodingRecipe.Settings(configuration) }

        static func == (a: Look, b: Look) -> Bool { a === b || a.settings == b.settings }
    }

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

        /// Its place in the order of submission, from 1.
        var ticket: UInt64
        /// The presentation time in nanoseconds.
        var timestamp: UInt64
        /// The time on the source's clock, for the pacing.
        let sourceTime: UInt64
        /// The time of submission, on the monotonic clock.
        let offeredAt: UInt64
        /// Since when the source has shown this.
        var changedAt: UInt64
        let orientation: FrameOrientation
        /// What it is made from; nil once that has been given up, or while the encoder has it.
        var content: FrameContent?
        /// How it should look, and what is made of the content for that; nil for a JPEG that is sent as it is.
        var look: Look
        var recipe: EncodingRecipe?
        /// A hash of the content, if it has been computed.
        var digest: UInt64?
        /// The number that the receiver sees.
        var number: UInt64?
        var state = State.pending
        /// What may have changed by images that were submitted after it.
        var later = Damage.nothing
        /// Whether the caller has been told of a newer one that was dropped at once.
        var isOutdated = false

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

    /// A frame that is being encoded or sent.
    struct Work: Sendable {
        enum Stage: Sendable { case encoding, sending }

        var stage = Stage.encoding
        /// The frame, without its content.
        var frame: Frame
        /// The JPEG that was made of it, or the copy in a shared buffer.
        var message: FrameMessage?
        var copy: SharedCopy?
        /// The shared buffer that it is copied to; nil for a JPEG.
        var place: Sharing.Place?
        /// The quality that it is encoded at, if that follows what is possible.
        var quality: Int?
        /// The connection for which it was begun, then the one to which it was submitted.
        var connection: Int
        /// The terms under which it was submitted.
        var revision: UInt64 = 0
        /// When encoding, or sending, began.
        var beganAt: UInt64
        /// Whether it has been sent before, or equals a frame that has.
        var isRepeat = false
        var isSharpening = false
        /// Whether it got its number for this.
        var isNumbered = false

        var isShared: Bool { place != nil }
    }

    /// The JPEG that was made last.
    struct Encoded: Sendable {
        /// The frame, without its content.
        var frame: Frame
        let message: FrameMessage
        /// The quality, if that followed what was possible.
        let quality: Int?
    }

    /// What the receiver has been given last.
    struct Given: Sendable {
        /// The frame, without its content.
        var frame: Frame
        let isShared: Bool
        /// The quality, if that followed what was possible.
        let quality: Int?
        /// When that was sent, or handed over if it has not been sent yet.
        var at: UInt64
        /// The ticket of a newer frame that is known to show the same.
        var equal: UInt64 = 0
    }

    /// What follows.
    enum Next: Sendable {
        case nothing
        case at(UInt64)
        case start(Target)
    }

    /// What is sent next.
    struct Target: Sendable {
        /// How it is made.
        enum Form: Sendable {
            /// It has been made.
            case made
            case encode
            case share(Sharing.Place)
        }

        var form = Form.encode
        var lack: Lack
    }

    /// What a receiver lacks.
    enum Lack: Sendable, Hashable {
        /// The newest image.
        case image
        /// It has the newest image in another size or quality than it prefers by now.
        case look
        /// It has the newest image at less than the highest quality.
        case sharpness
        /// A sign that the sender is there.
        case life

        static let all: [Lack] = [.image, .look, .sharpness, .life]
    }

    /// The effects of an event, to be performed outside any lock.
    package struct Effects: Sendable {
        /// Whether to call ``UploaderMachine/beginUpload(unread:at:)`` on the encoding queue.
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
        private var contents: [FrameContent] = []
        private var replaced: FrameMessage?
        private var replacedOnes: [FrameMessage] = []

        mutating func discard(_ content: FrameContent?) {
            guard let content else { return }
            if self.content == nil { self.content = content } else { contents.append(content) }
        }

        mutating func discard(_ message: FrameMessage?) {
            guard let message else { return }
            if replaced == nil { replaced = message } else { replacedOnes.append(message) }
        }

        /// Releases what was discarded: before the other effects, so that a program that waits for the next frame, and then
        /// draws in the image before it, has that alone.
        package mutating func release() {
            (content, replaced) = (nil, nil)
            if !contents.isEmpty { contents = [] }
            if !replacedOnes.isEmpty { replacedOnes = [] }
        }

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
