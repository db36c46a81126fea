internal import FrameWire
internal import Locking
internal import Synchronization

/// Gives the frames of one sender to several readers, each at its own pace.
///
/// For each reader the latest frame wins: one that is slow misses frames, which are counted, and holds up nobody. A
/// reader that joins late gets the last frame at once. No frame is copied.
///
///     let fanOut = FrameFanOut(of: connection)
///     for try await frame in fanOut.reader() { … }
public final class FrameFanOut: Sendable {
    private enum News {
        case frame(Frame)
        case end(CloseReason)
    }

    private struct State {
        var machine = FanOutMachine<Frame>()
        var mailboxes: [UInt64: Mailbox<Frame>] = [:]
        /// What the readers have not been given yet, and whether somebody is giving it to them.
        var news: [News] = []
        var isTelling = false

        /// Takes out the next piece of news with those whom it is for; nil, for the one who tells, when there is none.
        mutating func takeNews() -> (news: News, mailboxes: [Mailbox<Frame>])? {
            guard !news.isEmpty else {
                isTelling = false
                return nil
            }
            let next = news.removeFirst()
            switch next {
            case .frame(let frame):
                let readers = machine.publish(frame)
                return (next, readers.compactMap { mailboxes[$0] })
            case .end(let reason):
                let readers = machine.end(reason)
                return (next, readers.compactMap { mailboxes.removeValue(forKey: $0) })
            }
        }
    }

    private let state = Locked(State())
    /// What feeds this fan-out, if it follows a connection.
    private let feed = Locked(Task<Void, Never>?.none)

    /// A fan-out that is fed by hand, with ``publish(_:)`` and ``end(_:)``.
    public init() {}

    /// A fan-out of everything that a connection receives, on the connection's own thread.
    ///
    /// It is the connection's one consumer, and follows it to its end. When the fan-out and its readers are gone it lets go
    /// of the connection.
    public convenience init(of connection: FrameConnection) {
        self.init()
        let task = Task(executorPreference: connection.thread) { [weak self] in
            // A failure is in the connection's reason for ending, which the readers are told.
            while let frame = await connection.nextFrame() {
                guard let self else { return }
                self.publish(frame)
            }
            guard let reason = try? await connection.closed() else { return }
            self?.end(reason)
        }
        feed.withLock { $0 = task }
    }

    deinit {
        feed.withLock { $0.take() }?.cancel()
        end(.closedLocally(.stoppedByUser))
    }

    /// How many readers there are.
    public var readerCount: Int { state.withLock { $0.machine.readerCount } }

    /// Gives a frame to every reader, and keeps it for those who join before the next one.
    public func publish(_ frame: Frame) {
        tell(.frame(frame))
    }

    /// Ends every reader, once it has had its last frame.
    ///
    /// - Parameter reason: Why; a reader throws its error, if it has one.
    public func end(_ reason: CloseReason) {
        tell(.end(reason))
    }

    /// Tells the readers, in the order of the calls: if another thread is telling them already, it goes on with this.
    private func tell(_ news: News) {
        let mustTell = state.withLock { state in
            state.news.append(news)
            defer { state.isTelling = true }
            return !state.isTelling
        }
        guard mustTell else { return }
        while let (news, mailboxes) = state.withLock({ $0.takeNews() }) {
            for mailbox in mailboxes {
                switch news {
                case .frame(let frame): mailbox.put(frame)
                case .end(let reason): mailbox.end(reason.error)
                }
            }
        }
    }

    /// Another reader, which begins with the last frame, if there was one.
    public func reader() -> Reader {
        let mailbox = Mailbox<Frame>(capacity: 1, overflow: .replacesOldest)
        let (id, ending) = state.withLock { state in
            let (id, first, ending) = state.machine.join()
            // Within the lock, so that no newer frame can come before it.
            if let first { mailbox.put(first) }
            if ending == nil { state.mailboxes[id] = mailbox }
            return (id, ending)
        }
        if let ending { mailbox.end(ending.error) }
        return Reader(id: id, mailbox: mailbox, fanOut: self)
    }

    private func leave(_ reader: UInt64) {
        state.withLock { state in
            state.machine.leave(reader)
            state.mailboxes[reader] = nil
        }
    }

    /// One of those who read; it leaves when nobody holds it or its iterator any more.
    public final class Reader: AsyncSequence, Sendable {
        private static let lastIdentity = Atomic<UInt64>(0)

        private let id: UInt64
        private let mailbox: Mailbox<Frame>
        private let fanOut: FrameFanOut
        /// Tells the reader from all others of the process, so that a decoder which they share knows what each has seen.
        private let identity = lastIdentity.wrappingAdd(1, ordering: .relaxed).newValue

        fileprivate init(id: UInt64, mailbox: Mailbox<Frame>, fanOut: FrameFanOut) {
            self.id = id
            self.mailbox = mailbox
            self.fanOut = fanOut
        }

        deinit {
            fanOut.leave(id)
        }

        /// How many frames this reader missed because newer ones came.
        public var supersededFrames: Int { mailbox.replaced }

        /// Starts to read.
        public func makeAsyncIterator() -> Iterator {
            Iterator(reader: self)
        }

        /// Reads the frames of one fan-out.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let reader: Reader

            /// The next frame; nil at the end, or if the caller's task is cancelled.
            ///
            /// - Throws: Why the connection failed.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> Frame? {
                var frame = try await reader.mailbox.next(isolation: actor)
                frame?.reader = reader.identity
                return frame
            }

            /// The next frame; nil at the end, or if the caller's task is cancelled.
            ///
            /// - Throws: Why the connection failed.
            public mutating func next() async throws(TransportError) -> Frame? {
                try await next(isolation: nil)
            }
        }
    }
}

extension FrameConnection {
    /// The next frame; nil if there is no further one, for whatever reason.
    fileprivate func nextFrame() async -> Frame? {
        var frames = frames.makeAsyncIterator()
        return try? await frames.next()
    }
}
