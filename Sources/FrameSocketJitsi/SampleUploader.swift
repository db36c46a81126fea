// Type-checked against stubs, not run on a device.

internal import FrameSocket
internal import FrameSocketApple
internal import FrameTransport
internal import Locking

#if canImport(ReplayKit)
    public import CoreMedia
#endif

/// Sends the images of ReplayKit's samples, with the names of Jitsi's `SampleUploader`.
///
/// ```swift
/// let uploader = SocketConnection(filePath: path).map { SampleUploader(connection: $0) }
/// ```
///
/// Images are sent at half their size, as in the original, with quality 80. A sample's image is copied before `send`
/// returns; it is compressed and sent on a queue. One image is sent at a time and one waits, until a newer one takes its
/// place.
///
/// Thread safety: any thread may use an uploader at any time.
public final class SampleUploader: Sendable {
    private let connection: SocketConnection
    private let current = Locked<FrameSocket.SampleUploader?>(nil)

    /// Creates an uploader that sends while `connection` is open, now or later.
    ///
    /// The connection's closures stay free for the program.
    public init(connection: SocketConnection) {
        self.connection = connection
    }

    #if canImport(ReplayKit)
        /// Submits the image of a video sample.
        ///
        /// - Returns: Whether it was accepted; false if the connection is not open, the app wants no images, or the
        ///   sample has no image that can be read.
        @discardableResult
        public func send(sample buffer: CMSampleBuffer) -> Bool {
            (try? uploader?.send(buffer)) == .taken
        }
    #endif

    /// The uploader of the open connection; nil if there is none.
    var uploader: FrameSocket.SampleUploader? {
        guard let open = connection.connection else {
            // Released without the lock.
            let former = current.withLock { $0.take() }
            withExtendedLifetime(former) {}
            return nil
        }
        if let uploader = current.withLock({ $0 }), uploader.connection === open { return uploader }
        var configuration = BroadcastSession.Configuration().uploader
        // The handler leaves images out itself.
        configuration.pacing = .everyFrame
        let uploader = FrameSocket.SampleUploader(connection: open, configuration: configuration)
        return current.withLock { current in
            if let current, current.connection === open { return current }
            current = uploader
            return uploader
        }
    }
}
