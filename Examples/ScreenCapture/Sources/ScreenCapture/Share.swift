import FrameSocket

/// Sends an image whenever the screen has changed, until the task is cancelled or there is nothing left to share.
///
/// An image is captured only if somebody wants it, and once the one before has been sent: a slow receiver gets fewer, but
/// never an old one.
@MainActor
func share(_ screen: Screen, with uploader: SampleUploader) async throws {
    let (connection, descriptor) = (uploader.connection, screen.descriptor)
    var last = ContinuousClock.Instant?.none
    while true {
        try Task.checkCancellation()
        try screen.readEvents()
        guard connection.wantsImages else {
            // The display is watched too: it may be lost, or the window closed.
            await withTaskGroup { group in
                group.addTask { for await wants in connection.demand where wants.contains(.frames) { return } }
                group.addTask { await waitUntilReadable(descriptor) }
                await group.next()
                group.cancelAll()
            }
            continue
        }
        guard screen.hasChanged else {
            // A program that moves the pointer is reported to nobody.
            if await !waitUntilReadable(descriptor, for: screen.drawsPointer ? 1 : nil) { screen.hasChanged = true }
            continue
        }
        if let last { try await Task.sleep(until: last + uploader.interval) }
        last = .now
        guard let capture = try screen.capture() else { continue }
        uploader.send(capture.image, damage: capture.damage)
        // A receiver that pauses or leaves now is no reason to end: it gets the latest image when it is back.
        try? await uploader.finish()
    }
}

extension SocketConnection {
    /// Whether there is a receiver that wants images now.
    fileprivate var wantsImages: Bool {
        state == .connected && !receiver.isPaused && receiver.wants.contains(.frames)
    }
}

extension SampleUploader {
    /// The time from one image to the next, which a receiver may prefer to be longer.
    fileprivate var interval: Duration {
        guard let rate = configuration.pacing.rateInMillihertz else { return .zero }
        return .seconds(1000) / rate
    }
}
