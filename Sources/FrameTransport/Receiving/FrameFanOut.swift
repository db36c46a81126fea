internal import FrameWire
internal import Locking

/// Gives the frames of one sender to several readers, each at its own pace.
///
/// For each reader the latest frame wins: one that is slow misses frames, which are counted, and holds up nobody. A
/// reader that joins late gets the last frame at once. No frame is copied.
///
///     let fanOut = FrameFanOut(of: connection)
///     for try await frame in fanOut.reader() { … }
public final class FrameFanOut: Sendable {
    private struct State {
        var readers: [ObjectIdentifier: Mailbox<Frame>] = [:]
        var last: Frame?
        var end: CloseReason?
    }

    private let state = Locked(State())

    /// A fan-out that is fed by hand, with ``publish(_:)`` and ``end(_:)``.
    public init() {}

    /// A fan-out of everything that a connection receives, on the connection's own thread.
    ///
    /// It is the connection's one consumer, and follows it to its end.
    public convenience init(of connection: FrameConnection) {
        self.init()
        Task(executorPreference: connection.thread) { [weak self] in
            // A failure is in the connection's reason for ending, which the readers are told.
            while let frame = await connection.nextFrame() {
                guard let self else { return }
                self.publish(frame)
            }
            let reason = await connection.closed()
            self?.end(reason)
        }
    }

    deinit {
        end(.closedLocally(.stoppedByUser))
    }

    /// How many readers there are.
    public var readerCount: Int { state.withLock { $0.readers.count } }

    /// Gives a frame to every reader, and keeps it for those who join before the next one.
    public func publish(_ frame: Frame) {
        let readers = state.withLock { state in
            state.last = frame
            return Array(state.readers.values)
        }
        for reader in readers { reader.put(frame) }
    }

    /// Ends every reader, once it has had its last frame.
    ///
    /// - Parameter reason: why; a reader throws its error, where it has one.
    public func end(_ reason: CloseReason) {
        let readers = state.withLock { state in
            guard state.end == nil else { return [] as [Mailbox<Frame>] }
            state.end = reason
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.end(reason.error) }
    }

    /// Another reader, which begins with the last frame, if there was one.
    public func reader() -> Reader {
        let mailbox = Mailbox<Frame>(capacity: 1, overflow: .replacesOldest)
        let end = state.withLock { state in
            // Within the lock, so that no newer frame can come before it.
            if let last = state.last { mailbox.put(last) }
            if state.end == nil { state.readers[ObjectIdentifier(mailbox)] = mailbox }
            return state.end
        }
        if let end { mailbox.end(end.error) }
        return Reader(mailbox: mailbox, fanOut: self)
    }

    private func leave(_ mailbox: Mailbox<Frame>) {
        state.withLock { _ = $0.readers.removeValue(forKey: ObjectIdentifier(mailbox)) }
    }

    /// One of those who read; it leaves when nobody holds it or its iterator any more.
    public final class Reader: AsyncSequence, Sendable {
        private let mailbox: Mailbox<Frame>
        private let fanOut: FrameFanOut

        fileprivate init(mailbox: Mailbox<Frame>, fanOut: FrameFanOut) {
            self.mailbox = mailbox
            self.fanOut = fanOut
        }

        deinit {
            fanOut.leave(mailbox)
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

            /// The next frame; nil at the end, or where the caller's task is cancelled.
            ///
            /// - Throws: why the connection failed.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> Frame? {
                try await reader.mailbox.next(isolation: actor)
            }

            /// The next frame; nil at the end, or where the caller's task is cancelled.
            ///
            /// - Throws: why the connection failed.
            public mutating func next() async throws(TransportError) -> Frame? {
                try await next(isolation: nil)
            }
        }
    }
}

extension FrameConnection {
    /// The next frame; nil where there is no further one, for whatever reason.
    fileprivate func nextFrame() async -> Frame? {
        var frames = frames.makeAsyncIterator()
        return try? await frames.next()
    }
}
