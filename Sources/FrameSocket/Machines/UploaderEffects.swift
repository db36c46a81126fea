package import FrameTransport
package import FrameWire
package import TurboJPEG

extension UploaderMachine {
    /// The effects of an event, to be performed outside any lock.
    package struct Effects: Sendable {
        /// Whether to call ``UploaderMachine/beginUpload(at:)`` on the encoding queue.
        package internal(set) var startsUpload = false

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

        /// The connection whose receiver must be told that its preference is refused.
        package internal(set) var refusesPreferencesOf: Int?

        /// The number of a lease; the shared buffers of earlier leases are to be released.
        package internal(set) var dropsBuffersBefore: UInt64?

        /// The shared buffers whose memory is to be released, and the last lease that it may have been created for.
        package internal(set) var reclaimed: [(index: Int, lease: UInt64)] = []

        /// The frames to release.
        package internal(set) var discarded = Discards()

        /// Whether there is nothing to do except to release discarded frames.
        package var isEmpty: Bool {
            !startsUpload && message == nil && !setsTimer && finished.isEmpty && refusesPreferencesOf == nil
                && dropsBuffersBefore == nil && reclaimed.isEmpty
        }
    }

    /// Frames to release outside the lock, because the owners of their memory may run any code.
    ///
    /// An event usually replaces at most three, which need no allocation.
    package struct Discards: Sendable {
        private var first: UploadFrame?
        private var second: UploadFrame?
        private var third: UploadFrame?
        private var others: [UploadFrame] = []

        /// The number of frames.
        package private(set) var count = 0

        mutating func add(_ frame: UploadFrame) {
            switch count {
            case 0: first = frame
            case 1: second = frame
            case 2: third = frame
            default: others.append(frame)
            }
            count += 1
        }
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
        /// Copy it by this plan, and pass the copy to ``UploaderMachine/offer(_:at:)``.
        case copy(CopyPlan)
        /// The outcome is decided.
        case decided(SampleUploader.Outcome)
    }
}

/// A frame to encode, or to copy to a shared buffer.
package struct EncodingJob: Sendable {
    /// How the content's hash is used.
    package enum Comparison: Sendable, Hashable {
        /// No hash is needed.
        case none
        /// Compute the hash, to compare later frames with it.
        case compute
        /// Do not encode content with this hash: the receiver has it.
        case against(UInt64)
    }

    /// The content, to be taken out for encoding.
    package var content: FrameContent?
    /// Its orientation.
    package let orientation: FrameOrientation
    /// Which hash is needed.
    package let comparison: Comparison
    /// The plan for encoding; nil if the content stays unchanged.
    let plan: EncodingPlan?
    /// The shared buffer to copy the content to; nil to encode it.
    package var lease: SharedPool.Lease?
    /// Whether the buffer needs new memory.
    package var needsNewMemory = false

    /// The size that is sent; nil if the content stays unchanged.
    package var outputSize: BufferSize? { plan?.output.canvas }

    /// Whether the content is rotated upright.
    package var isTurning: Bool { plan?.isTurning ?? false }

    /// Whether the plan, which says which pixels are read and what memory that takes, is for this content.
    package var hasPlanForContent: Bool {
        guard let content, let pixels = content.pixels else { return true }
        guard let plan, let shape = plan.shape, plan.need.content >= content.byteCount else { return false }
        return plan.output.image == BufferSize(width: pixels.width, height: pixels.height)
            && shape.format == pixels.format && shape.orientation == orientation
    }
}

/// The result of an ``EncodingJob``.
package enum EncodingResult: Sendable {
    /// The content is encoded.
    case encoded(EncodedImage, digest: UInt64?)
    /// The content is in its shared buffer, with this orientation.
    case shared(BufferedImage, FrameOrientation, digest: UInt64?)
    /// The system has no memory to share; the content is returned.
    case notShared(FrameContent)
    /// The content equals what it was compared with, and is returned.
    case unchanged(FrameContent, digest: UInt64)
    /// The content cannot be encoded.
    case failed(TurboJPEGError)
}
