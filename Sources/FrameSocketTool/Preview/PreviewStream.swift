import Dispatch
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

/// Those who watch: programs that read the stream, and pages that ask for one image after another.
///
/// Each is answered on a thread of its own, which waits here for news.
final class PreviewAudience: Sendable {
    /// How many nanoseconds a page keeps its place after an answer without asking again.
    private static let pageLifetime: UInt64 = 5_000_000_000

    private struct State {
        var readers = 0
        /// When each page's place is free again, by the page's own name.
        var pages: [String: UInt64] = [:]
        var waiting: [ObjectIdentifier: DispatchSemaphore] = [:]
        var isClosed = false

        /// Forgets pages that no longer ask.
        mutating func count(at now: UInt64) -> Int {
            pages = pages.filter { $0.value > now }
            return readers + pages.count
        }
    }

    /// The maximum number of viewers.
    let maximum: Int

    private let locked = Locked(State())

    init(maximum: Int) { self.maximum = maximum }

    /// The number of viewers.
    var count: Int { locked.withLock { $0.count(at: MonotonicClock.now()) } }

    /// The number of pages that ask for images.
    var pages: Int { locked.withLock { $0.pages.count } }

    /// Whether the preview has ended.
    var isClosed: Bool { locked.withLock { $0.isClosed } }

    /// Admits another reader of the stream; returns false if there are enough viewers.
    func admitReader() -> Bool {
        locked.withLock { state in
            guard !state.isClosed, state.count(at: MonotonicClock.now()) < maximum else { return false }
            state.readers += 1
            return true
        }
    }

    func readerLeft() { locked.withLock { $0.readers -= 1 } }

    /// Keeps the place of a page, or admits it, until it has been answered; returns false if there are enough viewers.
    func admit(page: String) -> Bool {
        locked.withLock { state in
            let isFull = state.count(at: MonotonicClock.now()) >= maximum
            guard !state.isClosed, !isFull || state.pages[page] != nil else { return false }
            state.pages[page] = .max
            return true
        }
    }

    /// Records that a page has been answered: it asks again, or its place is free after a while; at once if the preview
    /// has ended, as the answer said.
    func answered(page: String) {
        locked.withLock { state in
            guard state.pages[page] != nil else { return }
            state.pages[page] = state.isClosed ? nil : MonotonicClock.now() + Self.pageLifetime
        }
    }

    /// Waits until `isOver`, until the preview ends, or for some time.
    func wait(atMost limit: Duration, until isOver: () -> Bool) {
        let semaphore = DispatchSemaphore(value: 0)
        locked.withLock { $0.waiting[ObjectIdentifier(semaphore)] = semaphore }
        defer { locked.withLock { _ = $0.waiting.removeValue(forKey: ObjectIdentifier(semaphore)) } }
        // A wait with a timeout would follow the wall clock.
        let isLate = Locked(false)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: limit.nanoseconds))) {
            isLate.withLock { $0 = true }
            semaphore.signal()
        }
        // Only now, since what happened before was announced to nobody.
        while !isClosed, !isOver(), !isLate.withLock({ $0 }) { semaphore.wait() }
    }

    /// Announces that there may be something new.
    func wake() {
        for semaphore in locked.withLock({ Array($0.waiting.values) }) { semaphore.signal() }
    }

    /// Ends streams and waits, and waits until all viewers have been told, but not long: one that reads nothing never would.
    func close() async {
        locked.withLock { $0.isClosed = true }
        wake()
        for _ in 0..<50 where count > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}
