import FrameSocket

/// Sends an image whenever the screen has changed, until the task is cancelled or there is nothing left to share.
///
/// An image is captured only once the one before has been sent: a slow receiver gets fewer, but never an old one.
@MainActor
func share(_ screen: Screen, with uploader: SampleUploader) async throws {
    var last = ContinuousClock.Instant?.none
    while true {
        try Task.checkCancellation()
        try screen.readEvents()
        guard screen.hasChanged else {
            await screen.waitForEvents()
            continue
        }
        if let last { try await Task.sleep(until: last + uploader.interval) }
        guard let capture = try screen.capture() else { continue }
        last = .now
        uploader.send(capture.image, damage: capture.damage)
        // A receiver that pauses, or has left, is no reason to end: it gets the latest image when it is back.
        try? await uploader.finish()
    }
}

extension SampleUploader {
    /// The time from one image to the next, which a receiver may prefer to be longer.
    fileprivate var interval: Duration {
        guard case .framesPerSecond(let rate) = configuration.pacing.rate else { return .zero }
        return .seconds(1) / rate
    }
}
