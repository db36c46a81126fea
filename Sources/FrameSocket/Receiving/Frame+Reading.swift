public import FrameTransport
package import FrameWire
public import TurboJPEG

extension JPEGTransform {
    /// Creates the transform that makes an image of the given orientation upright, as the wire format defines
    /// orientations.
    package init(uprighting orientation: FrameOrientation) {
        self =
            switch (orientation.isMirrored, orientation.rotation) {
            case (false, 90): .rotate90
            case (false, 180): .rotate180
            case (false, 270): .rotate270
            case (false, _): .none
            case (true, 90): .transverse
            case (true, 180): .flipVertical
            case (true, 270): .transpose
            case (true, _): .flipHorizontal
            }
    }
}

extension Frame {
    /// Runs `body`, which reads the frame's image, and reports to the connection whether it could.
    ///
    /// Whatever reads images of frames does it in here, so that a sender of images that nobody can read is ended by
    /// every consumer alike, however much of an image it has to understand.
    ///
    /// - Throws: The error of `body`. A lack of memory or of the library is not the sender's fault, and not reported.
    package func reading<Value>(_ body: () throws(TurboJPEGError) -> Value) throws(TurboJPEGError) -> Value {
        let value: Value
        do {
            value = try body()
        } catch {
            if ![.allocationFailed, .codecUnavailable].contains(error.code) { reportUndecodable() }
            throw error
        }
        reportDecoded()
        return value
    }

    /// Returns the frame with its JPEG flipped and rotated upright, without decoding and therefore losslessly.
    ///
    /// The result is a message, ready to be forwarded; its size is that of the new JPEG. Only whole blocks of 8, 16 or,
    /// for 4:1:1, 32 pixels a side can move: see `JPEGTransform.Edges` for what happens to the rest. To keep every
    /// pixel, decode the frame upright and encode it.
    ///
    /// - Parameters:
    ///   - edges: What happens to partial blocks. By default, those that would have to move are cut off: at most 7,
    ///     15 or, for 4:1:1, 31 pixels of width and height. An image without such blocks loses nothing.
    ///   - limits: The limits that the JPEG must meet.
    /// - Returns: The upright frame, with this frame's timestamp and number; the same bytes if it is upright already.
    /// - Throws: `notJPEG` for an image in shared memory; the errors of `JPEGTransform`: `transformFailed` if `perfect`
    ///   edges are impossible or nothing would remain, `unsupported` for 4:1:1 turned on its side, and errors for damaged
    ///   data.
    public func uprightJPEG(
        edges: JPEGTransform.Edges = .trim,
        limits: JPEGDecoder.Limits = .init()
    ) throws(TurboJPEGError) -> FrameMessage {
        var info = header.info
        info.orientation = .up
        guard let jpeg else {
            throw TurboJPEGError(.notJPEG, "the image is in shared memory and has no JPEG to rotate; decode it upright")
        }
        guard !orientation.isUpright else { return FrameMessage(jpeg: jpeg, info: info) }
        let upright = try UprightJPEG(jpeg, orientation, edges: edges, limits: limits)
        info.bufferSize = upright.size
        return FrameMessage(jpeg: upright.jpeg, info: info)
    }
}

/// A JPEG that was losslessly rotated upright.
struct UprightJPEG {
    let jpeg: FrameBytes
    let size: BufferSize

    init(
        _ jpeg: FrameBytes,
        _ orientation: FrameOrientation,
        edges: JPEGTransform.Edges,
        limits: JPEGDecoder.Limits
    ) throws(TurboJPEGError) {
        let transform = JPEGTransform(uprighting: orientation)
        let transformed = try jpeg.withSpan { jpeg throws(TurboJPEGError) in
            try transform.apply(to: jpeg, edges: edges, limits: limits)
        }
        let bytes = transformed[...]
        let header = try JPEGHeader(inspecting: bytes.span)
        self.jpeg = FrameBytes(transformed)
        size = BufferSize(width: header.width, height: header.height)
    }
}
