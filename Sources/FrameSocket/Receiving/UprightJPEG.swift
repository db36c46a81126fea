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
        let transformed = try transform.apply(to: jpeg.span, edges: edges, limits: limits)
        let bytes = transformed[...]
        let header = try JPEGHeader(inspecting: bytes.span)
        self.jpeg = FrameBytes(copying: bytes.span)
        size = BufferSize(width: header.width, height: header.height)
    }
}
