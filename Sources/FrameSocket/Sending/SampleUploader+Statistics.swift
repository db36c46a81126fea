public import TurboJPEG

extension SampleUploader {
    /// Statistics of a ``SampleUploader``.
    public struct Statistics: Sendable, Hashable {
        /// The number of submitted frames.
        public internal(set) var offered = 0

        /// The number of frames that the system has accepted completely; every frame is counted once.
        public internal(set) var sent = 0

        /// The number of these frames that were sent in shared memory, without encoding.
        public internal(set) var shared = 0

        /// The number of JPEG bytes in these frames.
        public internal(set) var bytes: UInt64 = 0

        /// The number of times that a frame was sent again: to another receiver, on a receiver's request, or because the
        /// source was silent.
        public internal(set) var repeats = 0

        /// The number of these times that an image was sent again at the highest quality, because it had not changed since it was
        /// sent at a lower one.
        public internal(set) var sharpened = 0

        /// The number of frames that were not sent, by cause.
        ///
        /// A deferred frame counts here until it is sent.
        public internal(set) var drops: [SampleUploader.DropCause: Int] = [:]

        /// The time from submission to the start of encoding, for frames that were not deferred.
        package internal(set) var queueAge = TimeSummary()

        /// The time for scaling and encoding.
        public internal(set) var encoding = TimeSummary()

        /// The time from the first byte written to the last.
        public internal(set) var transfer = TimeSummary()

        /// The quality of the image sent last, if that is a JPEG whose quality follows what is possible; nil otherwise.
        public internal(set) var quality: Int?

        /// The difficulties that there are now.
        public internal(set) var conditions: Conditions = []

        /// The last encoding error.
        public internal(set) var lastEncodingError: TurboJPEGError?

        /// The number of frames that were not sent.
        public var dropped: Int { drops.values.reduce(0, +) }

        /// The number of frames that are waiting or in progress.
        package var inProgress: Int { offered - sent - dropped }

        /// Counts a frame once, as what has become of it by now.
        mutating func move(_ old: UploaderMachine.Frame.State, to new: UploaderMachine.Frame.State) {
            guard old != new else { return }
            switch old {
            case .pending: break
            case .sent: sent -= 1
            case .deferred(let cause), .dropped(let cause):
                let count = drops[cause] ?? 0
                drops[cause] = count > 1 ? count - 1 : nil
            }
            switch new {
            case .pending: break
            case .sent: sent += 1
            case .deferred(let cause), .dropped(let cause): drops[cause, default: 0] += 1
            }
        }
    }
}
