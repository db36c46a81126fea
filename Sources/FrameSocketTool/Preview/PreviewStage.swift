import FrameSocket
import Locking

/// What there is to see, who sends it, and who looks.
///
/// Unless a viewer has chosen a sender, the picture is that of the one who connected last, of those who have sent any.
final class PreviewStage: Sendable {
    /// What is known of one sender.
    struct Sender {
        let id: Int
        let peer: PeerCredentials?
        var isPaused = false
        var statistics = ReceptionStatistics()
        var meter = PreviewMeter()
        /// Frames that gave way to newer ones before this program could look at them.
        var superseded = 0
        /// Frames that are no pictures.
        var undecodable = 0
        var picture: PreviewPicture?
    }

    /// What is known of all.
    struct State {
        /// In the order in which they connected.
        var senders: [Sender] = []
        /// How the last sender ended that did.
        var lastEnd: CloseReason?
        var isClosed = false

        fileprivate(set) var seats: [ObjectIdentifier: Seat] = [:]
        fileprivate var pictureCount = 0

        /// Returns the sender that a viewer chose, if it is connected; without a choice the one whose picture is shown, or is waited for.
        func sender(_ choice: Int?) -> Sender? {
            guard let choice else { return senders.last { $0.picture != nil } ?? senders.last }
            return senders.first { $0.id == choice }
        }
        /// How many look.
        var viewerCount: Int { seats.count }
    }

    /// A viewer, and the answer that it is fed by.
    struct Seat {
        let viewer: PreviewViewer
        let stream: HTTPStream
    }

    /// How many may look at once.
    let maximumViewers: Int

    private let locked = Locked(State())
    private let tending = Locked<(@Sendable () -> Void)?>(nil)

    init(maximumViewers: Int) {
        self.maximumViewers = maximumViewers
    }

    /// What is known now.
    var state: State { locked.withLock { $0 } }

    // MARK: Senders

    func begin(_ connection: FrameConnection) {
        locked.withLock { $0.senders.append(Sender(id: connection.id, peer: connection.peer)) }
    }

    /// Takes a frame; false where it is no picture.
    func take(_ frame: Frame, of connection: FrameConnection) -> Bool {
        let (number, isWatched) = locked.withLock { state in
            state.pictureCount += 1
            return (state.pictureCount, !state.seats.isEmpty)
        }
        let picture = try? PreviewPicture(frame, number: number)
        // Here, where nobody waits for it, and not where every viewer would.
        let isGood = isWatched ? (try? picture?.jpeg()) != nil : picture != nil
        change(connection.id) { sender in
            sender.statistics.add(frame)
            sender.meter.add(frame)
            sender.superseded = connection.supersededFrames
            if isGood { sender.picture = picture } else { sender.undecodable += 1 }
        }
        if isGood { wakeViewers() }
        return isGood
    }

    func take(_ status: SenderStatus, of connection: FrameConnection) {
        change(connection.id) { $0.isPaused = status.state == .paused }
    }

    func end(_ connection: FrameConnection, reason: CloseReason) {
        locked.withLock { state in
            state.senders.removeAll { $0.id == connection.id }
            state.lastEnd = reason
        }
        // The picture of another may be to be seen now.
        wakeViewers()
    }

    private func change(_ id: Int, _ body: (inout Sender) -> Void) {
        locked.withLock { state in
            guard let index = state.senders.firstIndex(where: { $0.id == id }) else { return }
            body(&state.senders[index])
        }
    }

    // MARK: Viewers

    /// Lets another viewer look, at the sender it chose if it chose one; nil if there are enough viewers.
    func admit(choosing choice: Int? = nil) -> (stream: HTTPStream, contentType: String)? {
        let viewer = PreviewViewer(of: self, choosing: choice)
        let stream = HTTPStream {
            viewer.supply(&$0)
        } released: { [weak self] in
            self?.leave(viewer)
        }
        let isAdmitted = locked.withLock { state in
            guard state.seats.count < maximumViewers, !state.isClosed else { return false }
            state.seats[ObjectIdentifier(viewer)] = Seat(viewer: viewer, stream: stream)
            return true
        }
        return isAdmitted ? (stream, viewer.contentType) : nil
    }

    private func leave(_ viewer: PreviewViewer) {
        locked.withLock { _ = $0.seats.removeValue(forKey: ObjectIdentifier(viewer)) }
    }

    private var seats: [Seat] { locked.withLock { Array($0.seats.values) } }

    private func wakeViewers() {
        for seat in seats { seat.stream.wake() }
    }

    /// Has `body` called whenever those who look are looked after.
    func tends(_ body: @escaping @Sendable () -> Void) {
        tending.withLock { $0 = body }
    }

    /// Looks after those who look; to be called a few times a second.
    func tend() {
        tending.withLock { $0 }?()
        let now = MonotonicClock.now()
        for seat in seats {
            seat.stream.checkClient()
            if seat.viewer.wantsRepetition(at: now) { seat.stream.wake() }
        }
    }

    /// Ends what the viewers see; new ones are not admitted.
    func close() {
        locked.withLock { $0.isClosed = true }
        wakeViewers()
    }

    /// Waits until all have read the end, but not long: one that reads nothing would never have.
    func emptied() async {
        for _ in 0..<50 where state.viewerCount > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}
