import FrameSocket
import Locking

/// Checks JPEGs that are to be sent unchanged, as a receiver with the default limits does, or with lenient ones.
final class PassthroughCheck: Sendable {
    /// The versions of files that passed: each is decoded once, however often it is sent.
    private let good = Locked<[String: Files.Version?]>([:])
    private let decoder: JPEGDecoder

    init(isLenient: Bool) {
        // A receiver's limits, and no more pixels than are needed to show that the JPEG can be decoded.
        var decoder = JPEGDecoder(pool: PixelBuffer.Pool(maximumIdleImages: 1))
        decoder.limits.acceptsDeviations = isLenient
        self.decoder = decoder
    }

    /// Returns the JPEG up to its end: receivers reject what cameras append, and padding beyond the size of a short body.
    static func trimmed(_ jpeg: [UInt8]) -> [UInt8] {
        let bytes = jpeg[...]
        guard let end = JPEGHeader.endOfImage(in: bytes.span), end < jpeg.count else { return jpeg }
        return Array(jpeg[..<end])
    }

    /// Checks that receivers accept the JPEG.
    ///
    /// - Throws: a failure that names the file and the reason.
    func check(_ jpeg: [UInt8], of image: InputImage) throws(CommandFailure) {
        let (name, version) = (image.name, image.version)
        if good.withLock({ $0[name] == .some(version) }) { return }
        if let complaint = FrameMessageDecoder.Limits().complaint(byteCount: jpeg.count) {
            throw CommandFailure(.badData, "\(name): \(complaint)")
        }
        do {
            let bytes = jpeg[...]
            _ = try decoder.decode(bytes.span, as: .gray)
        } catch {
            throw CommandFailure(
                .badData,
                "\(name): \(error.advice); receivers reject it, use --force to send it anyway"
            )
        }
        good.withLock { $0[name] = .some(version) }
    }
}
