package import FrameTransport
package import FrameWire
package import TurboJPEG

extension UploaderMachine {
    /// What is to be done after an event, outside of any lock.
    package struct Effects: Sendable {
        /// Whether ``UploaderMachine/beginTurn(at:)`` is to be called where frames are encoded.
        package internal(set) var startsTurn = false

        /// A message to submit; ``UploaderMachine/sent(_:at:)`` reports what became of it.
        package internal(set) var message: FrameMessage?

        /// Whether ``UploaderMachine/timer`` has changed: ``UploaderMachine/deadlinePassed(at:)`` is to be called then.
        package internal(set) var setsTimer = false

        /// Who has waited long enough.
        package internal(set) var finished: [UInt64] = []

        /// The connection whose receiver is to be told that what it prefers cannot be followed.
        package internal(set) var refusesPreferencesOf: Int?

        /// What is to be released.
        package internal(set) var discarded = Discards()

        /// Whether there is nothing to do but to release what was discarded.
        package var isEmpty: Bool {
            !startsTurn && message == nil && !setsTimer && finished.isEmpty && refusesPreferencesOf == nil
        }
    }

    /// Contents to release: their owner may run code of its own then.
    ///
    /// Three are as many as one event replaces in the usual course; for these no memory is asked for.
    package struct Discards: Sendable {
        private var first: FrameContent?
        private var second: FrameContent?
        private var third: FrameContent?
        private var others: [FrameContent] = []

        /// How many there are.
        package private(set) var count = 0

        mutating func add(_ content: FrameContent) {
            switch count {
            case 0: first = content
            case 1: second = content
            case 2: third = content
            default: others.append(content)
            }
            count += 1
        }
    }

    /// What has been decided on a frame that is offered.
    package enum Admission: Sendable {
        /// What becomes of it.
        case decided(SampleUploader.Outcome)
        /// Its hash is needed first: it goes to ``UploaderMachine/admit(_:at:)`` with that.
        case compare(UploadFrame)
    }

    /// What has been decided on an image that is to be copied when it is offered.
    package enum CopyAdmission: Sendable {
        /// It is copied like this, and the copy goes to ``UploaderMachine/offer(_:at:)``.
        case copy(CopyPlan)
        /// What becomes of it.
        case decided(SampleUploader.Outcome)
    }
}

/// A frame that is to be encoded.
package struct EncodingJob: Sendable {
    /// What is known about the content's hash.
    package enum Comparison: Sendable, Hashable {
        /// None is needed.
        case none
        /// It is needed, for later frames to be compared with.
        case compute
        /// A content with this hash is not encoded: the receiver has it.
        case against(UInt64)
    }

    /// The content, to be taken out by whoever encodes it.
    package var content: FrameContent?
    /// How it lies.
    package let orientation: FrameOrientation
    /// What hash is needed.
    package let comparison: Comparison
    /// How it is encoded; nil if it stays as it is.
    let plan: EncodingPlan?
}

/// What became of an ``EncodingJob``.
package enum EncodingResult: Sendable {
    /// It is encoded.
    case encoded(EncodedImage, digest: UInt64?)
    /// It equals what it was compared with; the content goes back.
    case unchanged(FrameContent, digest: UInt64)
    /// It cannot be encoded.
    case failed(TurboJPEGError)
}
