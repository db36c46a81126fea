internal import FrameWire
public import TurboJPEG

extension SampleUploader {
    /// Which images are sent, how they are scaled, encoded and described, and how much memory that may take.
    public struct Configuration: Sendable {
        /// The quality of the JPEGs, from 1 to 100.
        ///
        /// Default: 80.
        public var quality: Int

        /// The size of the JPEGs.
        ///
        /// Default: as the images are.
        public var scale: OutputScale

        /// How chroma is subsampled; planar images are always 4:2:0.
        ///
        /// Default: 4:2:0.
        public var subsampling: ChromaSubsampling

        /// Which images are sent.
        ///
        /// Default: all.
        public var pacing: Pacing

        /// Whether images are flipped and turned before they are encoded, so that every receiver shows them upright.
        ///
        /// Default: false: the header says how the image lies, and the receiver turns it.
        ///
        /// A JPEG that is handed in is turned without loss if its size is of whole blocks, and else encoded anew.
        public var appliesOrientation: Bool

        /// Whether each frame tells its presentation time and number, which receivers that do not know them ignore.
        ///
        /// Default: true.
        public var sendsTiming: Bool

        /// Whether images are encoded in strips, on several cores, and again only where they changed.
        ///
        /// Default: automatic.
        public var strips: Strips

        /// The most bytes that the uploader holds at one time; nil for no limit.
        ///
        /// Default: nil.
        ///
        /// Counted are the frames that are deferred, wait or are under way, with what they become: scaled, turned, and
        /// compressed at the worst; the strips that are kept, unless there is no room for these; and the JPEG of the latest
        /// frame. If a newer frame needs the memory, that JPEG is given up first, and then the frame that waits. A frame
        /// that does not fit beside the one under way is dropped with ``DropCause/overMemoryBudget``, and one that would
        /// not fit even alone is never sent. A process needs about 10 MB besides.
        ///
        /// A size or quality that a receiver prefers applies only if there is memory for it.
        public let maximumMemory: Int?

        /// A configuration with the defaults, but for what is given.
        public init(
            quality: Int = 80,
            scale: OutputScale = .full,
            subsampling: ChromaSubsampling = .yuv420,
            pacing: Pacing = .everyFrame,
            appliesOrientation: Bool = false,
            sendsTiming: Bool = true,
            strips: Strips = .automatic,
            maximumMemory: Int? = nil
        ) {
            self.quality = quality
            self.scale = scale
            self.subsampling = subsampling
            self.pacing = pacing
            self.appliesOrientation = appliesOrientation
            self.sendsTiming = sendsTiming
            self.strips = strips
            self.maximumMemory = maximumMemory
        }
    }
}

extension SampleUploader.Configuration {
    /// Whether an image is encoded in strips.
    public enum Strips: Sendable, Hashable {
        /// In strips between restart markers, which every decoder of baseline JPEGs takes.
        ///
        /// Only the strips whose pixels differ from those of the frame before are encoded. They are told by a keyed hash of
        /// 64 bits: by chance one change in about 2^53 goes unseen, until the next change of its strip.
        case automatic
        /// Always as a whole, by one thread, without restart markers.
        case off
    }

    /// This configuration, except for what a receiver prefers; what it says nothing of stays.
    func preferring(_ preferences: ControlPreferences) -> Self {
        var result = self
        if let frameRate = preferences.frameRate { result.pacing.rate = .framesPerSecond(frameRate) }
        if let size = preferences.size { result.scale = .fit(width: size.width, height: size.height) }
        if let quality = preferences.quality { result.quality = min(max(quality, 1), 100) }
        return result
    }

    /// This configuration with what differs between two others; the memory limit stays.
    func changed(from old: Self, to new: Self) -> Self {
        var result = self
        func change<Value: Equatable>(_ property: WritableKeyPath<Self, Value>) {
            if new[keyPath: property] != old[keyPath: property] { result[keyPath: property] = new[keyPath: property] }
        }
        change(\.quality)
        change(\.scale)
        change(\.subsampling)
        change(\.pacing)
        change(\.appliesOrientation)
        change(\.sendsTiming)
        change(\.strips)
        return result
    }
}
