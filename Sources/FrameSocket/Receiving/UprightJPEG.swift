internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

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
