import FrameTransport

extension SocketConnection {
    /// Submits a JPEG.
    func submit(
        _ message: FrameMessage,
        completion: @escaping @Sendable (Result<Void, TransportError>) -> Void
    ) throws(TransportError) {
        try submit(.jpeg(message), completion: completion)
    }
}
