import Dispatch
import FrameSocket
import Locking

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
