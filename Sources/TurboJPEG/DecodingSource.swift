/// A JPEG's header, checked against a decoder's limits, and the size that its picture gets.
struct DecodingSource {
    let header: JPEGHeader
    /// The width after scaling.
    let width: Int
    /// The height after scaling.
    let height: Int

    /// Walks over the JPEG, reads its header, and refuses what is too large or has no meaning in the pixel formats here.
    init(
        _ jpeg: Span<UInt8>,
        scale: ScalingFactor,
        limits: JPEGLimits,
        toleratesDamage: Bool,
        handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        _ = try JPEGGate.structure(of: jpeg, limits: limits, toleratesDamage: toleratesDamage)
        header = try JPEGHeader(inspecting: jpeg, with: handle)
        (width, height) = scale.scaled(width: header.width, height: header.height)
        try limits.check(width: width, height: height)
    }
}
