public import FrameWire
public import TurboJPEG

extension SampleUploader {
    /// Which frames are sent, and how they are scaled, encoded and described.
    ///
    /// No value makes sending fail later: a number outside its range counts as the nearest one inside it, and an invalid
    /// size or rate, such as 0, is no limit.
    public struct Configuration: Sendable {
        /// The quality of the JPEGs, from 1 to 100; a number outside this range becomes the nearest one inside it.
        ///
        /// Default: 80.
        public var quality: Int {
            didSet { quality = Self.clampedQuality(quality) }
        }

        /// How the quality follows what is possible; nil if it is always ``quality``.
        ///
        /// Default: nil.
        public var adaptation: Adaptation?

        /// The size of the JPEGs.
        ///
        /// Default: the size of the submitted images.
        public var scale: SampleUploader.OutputScale

        /// The chroma subsampling; planar images are always 4:2:0.
        ///
        /// Default: 4:2:0.
        public var subsampling: ChromaSubsampling

        /// Which frames are sent.
        ///
        /// Default: every frame.
        public var pacing: SampleUploader.Pacing

        /// Whether images are flipped and rotated before encoding, so that every receiver shows them upright.
        ///
        /// Default: false. The header states the orientation, and the receiver rotates the image.
        ///
        /// A submitted JPEG is rotated losslessly if its size is a whole number of blocks, and is otherwise encoded
        /// again.
        public var appliesOrientation: Bool

        /// What is drawn over every frame before it is encoded, or copied to shared memory; nil for nothing.
        ///
        /// Default: nil.
        ///
        /// JPEGs from ``SampleUploader/send(jpeg:bufferSize:orientation:timestamp:)`` are sent without it. A JPEG from ``SampleUploader/send(resizing:orientation:timestamp:)`` is always decoded, drawn on, and encoded again.
        public var watermark: Watermark?

        /// Whether every frame states its presentation time and number; receivers that do not know these fields ignore
        /// them.
        ///
        /// Default: true.
        public var sendsTiming: Bool

        /// Whether images are encoded in strips, on several cores, with only the changed strips encoded again; if not, they
        /// are encoded whole, on one thread.
        ///
        /// Strips lie between restart markers, which every decoder of baseline JPEGs supports. They are compared by a keyed
        /// 64-bit hash: about one change in 2^53 goes undetected by chance, until the next change of its strip.
        ///
        /// Default: true.
        public var usesStrips: Bool

        /// Whether images are sent in memory shared with the receiver, without encoding, if the receiver is on this machine
        /// and asks for it.
        ///
        /// Default: false.
        ///
        /// Scale, orientation, pacing and everything else apply as to JPEGs, except quality, subsampling and strips.
        /// Submitted JPEGs are sent as JPEGs, and so is an image of more than 2^30 bytes.
        ///
        /// Each image is copied into one of three buffers: the receiver can hold one while the next is on its way and
        /// another is filled. If the receiver holds all of them for two seconds, the frame that waits is sent as a JPEG, and
        /// so are later ones until the receiver releases a buffer.
        ///
        /// A receiver says in its hello whether it asks for shared memory. A new receiver has half a second to say so,
        /// and gets its first frame then, or when its hello arrives. At a port, and on systems without such memory,
        /// nothing is shared, and nothing is waited for.
        ///
        /// The buffers exist only while such a receiver is connected. If the system has no memory or no descriptor for them,
        /// frames are sent as JPEGs until the next connection.
        public var sharesMemory: Bool

        /// The largest image and JPEG that receivers accept.
        ///
        /// A frame outside these limits, which would end the connection, is dropped with
        /// ``SampleUploader/DropCause/outsideLimits``. One that was sent before new limits excluded it stays the latest frame,
        /// and is sent to a receiver that is owed it once others include it.
        ///
        /// Default: the limits of this package's receivers. Only the sizes of images and bodies apply: `maximumDimension`,
        /// `maximumPixels` and, for JPEGs, `maximumContentLength`. A limit below 1 lets no frame pass.
        public var limits: FrameMessageDecoder.Limits

        /// Whether the image of the latest frame is kept beside its JPEG, so that a receiver that connects, or asks for another
        /// size or quality, gets it as it wants it.
        ///
        /// Default: true. If it is false, the uploader releases an image as soon as it is encoded, and such a receiver gets the
        /// JPEG as it is. See also ``SampleUploader/giveUpImages()``, for a program that fills a new image for every frame.
        /// An image in shared memory has no JPEG, and is kept until the next one is on its way.
        public var keepsLatestImage: Bool

        /// Creates a configuration with the given values, and defaults for the rest.
        public init(
            quality: Int = 80,
            adaptation: Adaptation? = nil,
            scale: SampleUploader.OutputScale = .full,
            subsampling: ChromaSubsampling = .yuv420,
            pacing: SampleUploader.Pacing = .everyFrame,
            appliesOrientation: Bool = false,
            watermark: Watermark? = nil,
            sendsTiming: Bool = true,
            usesStrips: Bool = true,
            sharesMemory: Bool = false,
            limits: FrameMessageDecoder.Limits = .init(),
            keepsLatestImage: Bool = true
        ) {
            self.quality = Self.clampedQuality(quality)
            self.adaptation = adaptation
            self.scale = scale
            self.subsampling = subsampling
            self.pacing = pacing
            self.appliesOrientation = appliesOrientation
            self.watermark = watermark
            self.sendsTiming = sendsTiming
            self.usesStrips = usesStrips
            self.sharesMemory = sharesMemory
            self.limits = limits
            self.keepsLatestImage = keepsLatestImage
        }

        static func clampedQuality(_ quality: Int) -> Int { min(max(quality, 1), 100) }
    }
}

extension SampleUploader.Configuration {
    /// Returns this configuration with a receiver's preferences applied, and with what an adaptation implies; unstated
    /// properties stay.
    func preferring(_ preferences: ControlRequest.Preferences) -> Self {
        var result = self
        if let frameRate = preferences.frameRate { result.pacing.rate = .framesPerSecond(frameRate) }
        if let size = preferences.size { result.scale = scale.preferring(size) }
        if let quality = preferences.quality { result.quality = quality }
        if let rate = preferences.byteRate {
            let own = adaptation?.maximumByteRate ?? .max
            result.adaptation = adaptation ?? Adaptation()
            result.adaptation?.maximumByteRate = min(own, rate)
        }
        // An image that is sent again for nothing takes the room of the next one.
        if result.adaptation != nil, !result.pacing.skipsUnchanged {
            result.pacing = result.pacing.skippingUnchanged(keepAlive: nil)
        }
        return result
    }

    /// Returns this configuration with the properties changed that differ between two others.
    func changed(from old: Self, to new: Self) -> Self {
        var result = self
        func change<Value: Equatable>(_ property: WritableKeyPath<Self, Value>) {
            if new[keyPath: property] != old[keyPath: property] { result[keyPath: property] = new[keyPath: property] }
        }
        change(\.quality)
        change(\.adaptation)
        change(\.scale)
        change(\.subsampling)
        change(\.pacing)
        change(\.appliesOrientation)
        change(\.watermark)
        change(\.sendsTiming)
        change(\.usesStrips)
        change(\.sharesMemory)
        change(\.limits)
        change(\.keepsLatestImage)
        return result
    }
}
