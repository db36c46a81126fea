import FrameSocket
import Locking

/// Images as a stream that browsers show in an `<img>`, each replacing the previous one (`multipart/x-mixed-replace`), at the
/// pace of one reader: once it has read an image, the next one is the latest.
///
/// Each part states its length, which strict readers need, and the boundary after an image is sent with it, since some
/// readers show an image only then. Browsers built on Blink show it when the *header of the next part* has been read,
/// which cannot be sent before the next image's length is known: see docs/decisions/0020.
final class PreviewStream: Sendable {
    /// Without a new image for this long, the last one is sent again, once.
    private static let stillness = Duration.milliseconds(200)
    /// How often it is checked whether the reader is still there, while there is nothing for it.
    private static let checkInterval = Duration.milliseconds(100)

    private struct State {
        /// What is still to be written, from `offset` on.
        var pieces: [FrameBytes] = []
        var offset = 0
        /// The number of the image that was added last.
        var shown: Int?
        var isRepeated = false
    }

    /// A JPEG may contain any bytes, and its sender must not be able to start a part of its own.
    private let boundary = "image-" + PreviewAccess.makeToken()
    private let routes: PreviewRoutes
    /// The connection of the selected sender; nil for the latest.
    private let choice: Int?
    private let client: HTTPConnections.Key
    private let locked: Locked<State>

    /// Creates a stream for a client that has been admitted to the audience, which it leaves with the stream.
    init(_ routes: PreviewRoutes, choosing choice: Int?, for client: HTTPConnections.Key) {
        (self.routes, self.choice, self.client) = (routes, choice, client)
        locked = Locked(State(pieces: [FrameBytes(Array("--\(boundary)\r\n".utf8))]))
    }

    deinit { routes.stage.audience.readerLeft() }

    /// The value of the field `Content-Type`.
    var contentType: String { "multipart/x-mixed-replace; boundary=\(boundary)" }

    /// Writes what the reader gets next, and waits for it if there is nothing; returns 0 at the end.
    func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        locked.withLock { state in
            if state.pieces.isEmpty {
                routes.connections.answers(client, within: nil)
                guard let jpeg = next(&state) else { return 0 }
                routes.connections.answers(client, within: HTTPConnections.answerLimit)
                let header = "Content-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n"
                let end = "\r\n--\(boundary)\r\n"
                state.pieces = [FrameBytes(Array(header.utf8)), jpeg, FrameBytes(Array(end.utf8))]
            }
            var written = 0
            while let piece = state.pieces.first, written < room.count {
                let count = min(piece.count - state.offset, room.count - written)
                piece.withSpan { bytes in
                    unsafe bytes.extracting(state.offset..<(state.offset + count)).withUnsafeBytes { bytes in
                        unsafe UnsafeMutableRawBufferPointer(rebasing: room[written...]).copyMemory(from: bytes)
                    }
                }
                written += count
                state.offset += count
                guard state.offset == piece.count else { break }
                state.pieces.removeFirst()
                state.offset = 0
            }
            return written
        }
    }

    /// Waits for the next image of the reader; nil at the end.
    private func next(_ state: inout State) -> FrameBytes? {
        let stage = routes.stage
        let start = ContinuousClock.now
        while !stage.audience.isClosed, !routes.connections.hasLeft(client) {
            let sender = stage.state.sender(choice)
            // Connection numbers are not reused.
            if choice != nil, sender == nil { return nil }
            let number = sender?.image?.number
            let isDue = !state.isRepeated && ContinuousClock.now - start >= Self.stillness
            if let image = sender?.image, number != state.shown || isDue, let jpeg = try? image.jpeg() {
                state.isRepeated = number == state.shown
                state.shown = number
                return jpeg
            }
            stage.audience.wait(atMost: Self.checkInterval) { stage.state.sender(choice)?.image?.number != number }
        }
        return nil
    }
}
