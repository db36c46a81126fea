package import FrameTransport

extension UploaderMachine {
    /// The effects of an event, to be performed outside any lock.
    package struct Effects: Sendable {
        /// Whether to call ``UploaderMachine/beginUpload(at:)`` on the encoding queue.
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

        /// The frames to release.
        package internal(set) var discarded = Discards()

        /// Releases the discarded frames: before the other effects, so that a program that waits for the next frame, and then
        /// draws in the image before it, has that alone.
        package mutating func release() { if !discarded.isEmpty { discarded = Discards() } }

        /// Whether there is nothing to do except to release discarded frames.
        package var isEmpty: Bool {
            !startsUpload && message == nil && !setsTimer && finished.isEmpty && !statesRate && !tellsConditions
                && dropsBuffersBefore == nil
        }
    }

    /// Frames and images to release outside the lock, because the owners of their memory may run any code.
    ///
    /// An event usually replaces one frame, and gives up one image, which need no allocation.
    package struct Discards: Sendable {
        private var frame: UploadFrame?
        private var frames: [UploadFrame] = []
        private var image: FrameContent?
        private var images: [FrameContent] = []

        mutating func add(_ frame: UploadFrame) {
            if self.frame == nil { self.frame = frame } else { frames.append(frame) }
        }

        mutating func add(_ content: FrameContent?) {
            guard let content else { return }
            if image == nil { image = content } else { images.append(content) }
        }

        fileprivate var isEmpty: Bool { frame == nil && image == nil }
    }

    /// The decision on a submitted frame.
    package enum Admission: Sendable {
        /// The outcome is decided.
        case decided(SampleUploader.Outcome)
        /// Its hash is needed first: compute it and pass the frame to ``UploaderMachine/admit(_:at:)``.
        case compare(UploadFrame)
    }

    /// The decision on an image to be copied when submitted.
    package enum CopyAdmission: Sendable {
        /// Copy it by this recipe, and pass the copy to ``UploaderMachine/offer(_:damage:entry:at:)`` with its number.
        case copy(EncodingRecipe, entry: UInt64)
        /// The outcome is decided.
        case decided(SampleUploader.Outcome)
    }
}
