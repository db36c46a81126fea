import Foundation
import FrameSocket

/// Why the program cannot go on, in one line, and its exit code.
struct Failure: Error {
    let message: String
    let exitCode: Int32

    static func usage(_ message: String) -> Failure { Failure(message: message, exitCode: 64) }
    /// What was to be shared does not exist, or no longer.
    static func noInput(_ message: String) -> Failure { Failure(message: message, exitCode: 66) }
    static func unavailable(_ message: String) -> Failure { Failure(message: message, exitCode: 69) }
}

/// Sends an image whenever the screen has changed, until the task is cancelled or there is nothing left to share.
///
/// An image is captured only if somebody wants it, and once the one before has been sent: a slow receiver gets fewer, but
/// never an old one.
@MainActor
func share(_ screen: Screen, with uploader: SampleUploader) async throws {
    let (connection, descriptor) = (uploader.connection, screen.display.descriptor)
    var last = ContinuousClock.Instant?.none
    while true {
        try Task.checkCancellation()
        try screen.readEvents()
        let receiver = connection.receiver
        guard connection.state == .connected, !receiver.isPaused, receiver.wants.contains(.frames) else {
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
        // A receiver may prefer a longer time from one image to the next.
        if let last, let rate = uploader.configuration.pacing.rateInMillihertz {
            try await Task.sleep(until: last + .seconds(1000) / rate)
        }
        last = .now
        guard let capture = try screen.capture() else { continue }
        uploader.send(capture.image, damage: capture.damage)
        // A receiver that pauses or leaves now is no reason to end: it gets the latest image when it is back.
        try? await uploader.finish()
    }
}

/// Waits until there is something to read, the task is cancelled, or some seconds have passed, for which it returns false.
@discardableResult
func waitUntilReadable(_ descriptor: Int32, for seconds: Double? = nil) async -> Bool {
    let (ends, continuation) = AsyncStream.makeStream(of: Bool.self)
    let (source, timer) = (DispatchSource.makeReadSource(fileDescriptor: descriptor), DispatchSource.makeTimerSource())
    source.setEventHandler { continuation.yield(true) }
    timer.setEventHandler { continuation.yield(false) }
    timer.schedule(deadline: seconds.map { .now() + $0 } ?? .distantFuture)
    source.resume()
    timer.resume()
    let end = await ends.first { _ in true }
    source.cancel()
    timer.cancel()
    return end ?? true
}
