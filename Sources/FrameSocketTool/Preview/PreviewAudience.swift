import FrameSocket
import Locking

/// Those who watch: programs that read the stream, and pages that ask for one image after another.
final class PreviewAudience: Sendable {
    /// How many nanoseconds a page keeps its place after an answer without asking again.
    static let pageLifetime: UInt64 = 5_000_000_000

    /// The maximum number of seconds that a request waits: a client that has left is not noticed before.
    static let longestWait = 10

    /// A program that reads the stream, and the answer that it feeds.
    private struct Reader {
        let viewer: PreviewViewer
        let stream: HTTPStream
    }

    /// A request that waits for a new image.
    private struct Waiting {
        let wait: HTTPWait
        let deadline: UInt64
        let isOver: @Sendable () -> Bool
    }

    private struct State {
        var readers: [ObjectIdentifier: Reader] = [:]
        /// When each page's place is free again, by the page's own name.
        var pages: [String: UInt64] = [:]
        var waiting: [ObjectIdentifier: Waiting] = [:]
        var isClosed = false

        /// Forgets pages that no longer ask.
        mutating func count(at now: UInt64) -> Int {
            pages = pages.filter { $0.value > now }
            return readers.count + pages.count
        }
    }

    /// The maximum number of viewers.
    let maximum: Int

    private let locked = Locked(State())

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// The number of viewers.
    var count: Int { locked.withLock { $0.count(at: MonotonicClock.now()) } }

    /// Whether the preview has ended.
    var isClosed: Bool { locked.withLock { $0.isClosed } }

    // MARK: Programs

    /// Admits another reader of the stream; nil if there are enough viewers.
    func admit(_ viewer: PreviewViewer) -> HTTPStream? {
        let stream = HTTPStream {
            viewer.supply(&$0)
        } released: { [weak self] in
            self?.locked.withLock { _ = $0.readers.removeValue(forKey: ObjectIdentifier(viewer)) }
        }
        let isAdmitted = locked.withLock { state in
            guard !state.isClosed, state.count(at: MonotonicClock.now()) < maximum else { return false }
            state.readers[ObjectIdentifier(viewer)] = Reader(viewer: viewer, stream: stream)
            return true
        }
        return isAdmitted ? stream : nil
    }

    // MARK: Pages

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
    func answered(_ page: String) {
        if isClosed { locked.withLock { _ = $0.pages.removeValue(forKey: page) } } else { limit(page) }
    }

    private func limit(_ page: String) {
        locked.withLock { state in
            guard state.pages[page] != nil else { return }
            state.pages[page] = MonotonicClock.now() + Self.pageLifetime
        }
    }

    /// Returns a wait that ends when `isOver`, when the preview ends, or after `seconds`, for a page if it has a name.
    func wait(atMost seconds: Int, page: String?, until isOver: @escaping @Sendable () -> Bool) -> HTTPWait {
        let wait = HTTPWait { [weak self] wait in
            self?.locked.withLock { _ = $0.waiting.removeValue(forKey: ObjectIdentifier(wait)) }
            // Its client may have left, and then gets no answer.
            if let page { self?.limit(page) }
        }
        let nanoseconds = UInt64(min(max(seconds, 0), Self.longestWait)) * 1_000_000_000
        let waiting = Waiting(wait: wait, deadline: MonotonicClock.now() + nanoseconds, isOver: isOver)
        locked.withLock { $0.waiting[ObjectIdentifier(wait)] = waiting }
        // Only now, since what happened before was announced to nobody.
        if isOver() { wait.wake() }
        return wait
    }

    // MARK: What happens

    /// Announces that there may be something new.
    func wake() {
        let (readers, waiting) = locked.withLock { (Array($0.readers.values), Array($0.waiting.values)) }
        for reader in readers { reader.stream.wake() }
        for waiting in waiting where waiting.isOver() { waiting.wait.wake() }
    }

    /// Checks everybody; must be called a few times a second.
    func tend() {
        let now = MonotonicClock.now()
        let (readers, waiting) = locked.withLock { (Array($0.readers.values), Array($0.waiting.values)) }
        for reader in readers {
            reader.stream.checkClient()
            if reader.viewer.wantsRepetition(at: now) { reader.stream.wake() }
        }
        for waiting in waiting where waiting.deadline <= now { waiting.wait.wake() }
    }

    /// Ends streams and waits; nobody else is admitted.
    func close() {
        locked.withLock { $0.isClosed = true }
        wake()
    }

    /// Waits until all have been told of the end, but not long: a viewer that reads nothing never would.
    func emptied() async {
        for _ in 0..<50 where count > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}
