public import FrameTransport
public import FrameWire
public import TurboJPEG

// Submitting frames: as pixels, copied, and as JPEGs.
extension SampleUploader {
    /// Submits a frame.
    ///
    /// Never blocks, and keeps only a reference to the pixels, which is released when a newer image has been encoded or
    /// copied, before that is sent. A source that draws in two images in turn, and waits for ``finish()`` in between, never
    /// has one copied, except after an image that was left out as unchanged, because the older one then stays the latest.
    /// One that has a single image uses ``send(copying:color:orientation:timestamp:damage:)``.
    ///
    /// A source that knows what it has changed since its last image states that as `damage`: the rest is neither looked
    /// at nor encoded, nor copied to shared memory.
    ///
    /// The uploader joins the damage of every submitted image, also of those that are dropped, held back or replaced, and
    /// each receiver gets all that changed. Rectangles may overlap; what is outside the image is ignored, and a negative
    /// width or height counts as 0. However many there are, the uploader keeps one bit for each row of the image: what is
    /// beside a rectangle is looked at too, and so is all of an image that is rotated by a quarter. After another size, format or orientation, everything counts as changed, whatever the damage says. If the
    /// damage is too small, the receiver shows old pixels there until they change again, or everything does.
    ///
    /// - Parameters:
    ///   - image: The pixels. Later changes to the buffer affect a copy.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds. Default: the current time of `MonotonicClock`.
    ///   - damage: The rectangles in which the image may differ from the one that was submitted before, whatever became of
    ///     that, in pixels of `image`; nil, the default, if that is not known. An empty array states that nothing changed.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped.
    @discardableResult
    public func send(
        _ image: PixelBuffer,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        damage: [PixelBuffer.Rectangle]? = nil
    ) -> Outcome {
        offer(.pixels(image), orientation, timestamp, damage: damage.map { ImageDamage($0, of: image.size) })
    }

    /// Submits a frame whose memory its source reuses, copying what is sent before returning.
    ///
    /// Use this method for sources that draw the next image over the last one, such as ReplayKit and shared memory of a
    /// window system. The call scales the image to the size that is sent, or copies it, and converts the samples of
    /// planar formats if `color` differs from a JPEG's. It does not wait for anything else. The memory of the copies is
    /// reused, for at most three images.
    ///
    /// - Parameters:
    ///   - image: The pixels. They may change as soon as the call returns.
    ///   - color: The color space of the samples of a planar format. Default: that of a JPEG.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds. Default: the current time of `MonotonicClock`.
    ///   - damage: The rectangles in which the image may differ from the one that was submitted before, as for
    ///     ``send(_:orientation:timestamp:damage:)``. The image is copied as a whole all the same.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped; `encodingFailed` if it cannot be
    ///   copied.
    @discardableResult
    public func send(
        copying image: PixelBuffer,
        color: PixelBuffer.Color = .jpeg,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        damage: [PixelBuffer.Rectangle]? = nil
    ) -> Outcome {
        let damage = damage.map { ImageDamage($0, of: image.size) }
        let now = MonotonicClock.now()
        switch handle({ $0.offerCopy(of: image, color: color, orientation: orientation, damage: damage, at: now) }) {
        case .decided(let outcome):
            return outcome
        case .copy(let recipe, let entry):
            do throws(TurboJPEGError) {
                let copy = try recipe.copy(image, of: color, pool: copies)
                return offer(.scaled(copy, by: recipe.output), orientation, timestamp, entry: entry)
            } catch {
                return handle { $0.offerFailed(error, at: MonotonicClock.now()) }
            }
        }
    }

    /// Submits a JPEG, to be sent unchanged unless it has to be rotated.
    ///
    /// Never blocks. The configured size does not apply. With ``Configuration/appliesOrientation`` and an
    /// orientation other than `up` and `unknown` it is rotated upright: without loss if its size allows that, or else it
    /// is decoded, and encoded at the configured quality.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG.
    ///   - bufferSize: The image's size, for the message's header.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds. Default: the current time of `MonotonicClock`.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped.
    @discardableResult
    public func send(
        jpeg: FrameBytes,
        bufferSize: BufferSize,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> Outcome {
        offer(.jpeg(jpeg, bufferSize), orientation, timestamp)
    }

    /// Submits a JPEG, to be sent in the configured size.
    ///
    /// Never blocks. If the configured size differs from the JPEG's own, the JPEG is decoded at the smallest sufficient
    /// size, scaled, and encoded at the configured quality. With a watermark it is decoded and encoded as well, and with
    /// ``Configuration/appliesOrientation`` and an orientation other than `up` and `unknown` it is rotated, as
    /// ``send(jpeg:bufferSize:orientation:timestamp:)`` says. Otherwise it is sent unchanged.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds. Default: the current time of `MonotonicClock`.
    /// - Returns: Whether the frame was accepted, or why it was deferred or dropped; `encodingFailed` if it is not a
    ///   JPEG, or exceeds `JPEGDecoder.Limits.ownFiles`.
    @discardableResult
    public func send(
        resizing jpeg: FrameBytes,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> Outcome {
        do throws(TurboJPEGError) {
            let header = try jpeg.withSpan { jpeg throws(TurboJPEGError) in try JPEGHeader(inspecting: jpeg) }
            try JPEGDecoder.Limits.ownFiles.check(width: header.width, height: header.height)
            let size = BufferSize(width: header.width, height: header.height)
            return offer(.resizableJPEG(jpeg, size), orientation, timestamp)
        } catch {
            return handle { $0.offerFailed(error, at: MonotonicClock.now()) }
        }
    }

    private func offer(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ timestamp: UInt64?,
        damage: ImageDamage? = nil,
        entry: UInt64? = nil
    ) -> Outcome {
        let now = MonotonicClock.now()
        let outcome = handle(onCaller: encodesOnCaller) { machine in
            machine.offer(
                content,
                orientation: orientation,
                timestamp: timestamp,
                damage: damage,
                entry: entry,
                at: now
            )
        }
        // A caller that has seen the connection end should not see a deferral because this uploader has not been told
        // yet.
        guard outcome == .deferred(.notConnected), connection.hasEnded else { return outcome }
        handle { $0.close(told: true, at: MonotonicClock.now()) }
        return .dropped(.notConnected)
    }
}
