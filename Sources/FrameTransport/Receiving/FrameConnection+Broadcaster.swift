internal import FrameWire
internal import Locking

extension FrameConnection {
    /// Broadcasts the frames of one sender to several readers, each at its own pace.
    ///
    /// Every reader gets the latest frame: a slow reader misses frames, which are counted, and holds up no other reader. A
    /// reader that joins late gets the last frame at once. No frame is copied: one in shared memory keeps its sender's buffer
    /// while it is the last one or a reader has it, so the sender needs one buffer more than there are slow readers, and two
    /// for the others.
    ///
    /// ```swift
    /// let fanOut = FrameConnection.Broadcaster(of: connection)
    /// for try await frame in fanOut.reader() { record(frame) }
    /// ```
    ///
    /// Thread safety: any thread may use a broadcaster at any time. Every reader is for one consumer.
    public final class Broadcaster: Sendable {
        private enum News {
            case frame(Frame)
            case end(CloseReason)
        }

        private struct State {
            var machine = FanOutMachine<Frame>()
            var mailboxes: [UInt64: Mailbox<Frame>] = [:]
            /// Undelivered news, and whether a thread is delivering it.
            var news: [News] = []
            var isTelling = false

            /// Removes the next piece of news, with its readers; nil if there is none, which ends delivery.
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
        /// The task that feeds this fan-out, if it follows a connection.
        private let feed = Locked(Task<Void, Never>?.none)

        /// Creates a fan-out to feed with `publish(_:)` and ``end(_:)``.
        public init() {}

        /// Creates a fan-out of everything that a connection receives, on the connection's own thread.
        ///
        /// It is the connection's only consumer, and follows it to its end: readers throw the error that
        /// ``FrameConnection/frames`` throws. It releases the connection when the fan-out and its readers are released.
        public convenience init(of connection: FrameConnection) {
            self.init()
            let task = Task(preferring: connection.thread) { [weak self] in
                do throws(TransportError) {
                    while let frame = try await connection.nextFrame() {
                        guard let self else { return }
                        self.publish(frame)
                    }
                } catch {
                    // Not necessarily the close reason, which is orderly if a departed sender's frames were dropped.
                    self?.end(.failed(error))
                    return
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

        /// The number of readers.
        package var readerCount: Int { state.withLock { $0.machine.readerCount } }

        /// Delivers a frame to every reader, and keeps it for readers that join before the next one.
        package func publish(_ frame: Frame) {
            tell(.frame(frame))
        }

        /// Ends every reader after its last frame.
        ///
        /// - Parameter reason: The reason; readers throw its error, if it has one.
        public func end(_ reason: CloseReason) {
            tell(.end(reason))
        }

        /// Delivers news in the order of the calls; if another thread is already delivering, it delivers this too.
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

        /// Creates a reader, which begins with the last frame, if there is one.
        public func reader() -> Reader {
            let mailbox = Mailbox<Frame>(capacity: 1, overflow: .replacesOldest)
            let (id, ending) = state.withLock { state in
                let (id, first, ending) = state.machine.join()
                // Within the lock, so that no newer frame can precede it.
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

        /// A reader of a fan-out; it leaves when it and its iterator are released.
        public final class Reader: AsyncSequence, Sendable {
            private static let identities = Counter()

            private let id: UInt64
            private let mailbox: Mailbox<Frame>
            private let fanOut: Broadcaster
            /// Identifies the reader within the process, so that a shared decoder knows what each reader has seen.
            private let identity = UInt64(identities.next())

            fileprivate init(id: UInt64, mailbox: Mailbox<Frame>, fanOut: Broadcaster) {
                self.id = id
                self.mailbox = mailbox
                self.fanOut = fanOut
            }

            deinit {
                fanOut.leave(id)
            }

            /// The number of frames that this reader missed because newer ones arrived.
            public var supersededFrames: Int { mailbox.replaced }

            /// Creates an iterator over the frames.
            public func makeAsyncIterator() -> Iterator {
                Iterator(reader: self)
            }

            /// An iterator over the frames of one fan-out.
            public struct Iterator: AsyncIteratorProtocol {
                fileprivate let reader: Reader

                /// Returns the next frame; nil at the end, or if the calling task is cancelled.
                ///
                /// - Throws: The error with which the connection failed, or `departedSenderDropped`.
                public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> Frame?
                {
                    var frame = try await reader.mailbox.next(isolation: actor)
                    frame?.reader = reader.identity
                    return frame
                }

                /// Returns the next frame; nil at the end, or if the calling task is cancelled.
                ///
                /// - Throws: The error with which the connection failed, or `departedSenderDropped`.
                public mutating func next() async throws(TransportError) -> Frame? {
                    try await next(isolation: nil)
                }
            }
        }
    }
}

extension FrameConnection {
    /// Returns the next frame; nil if the frames have ended cleanly.
    fileprivate func nextFrame() async throws(TransportError) -> Frame? {
        var frames = frames.makeAsyncIterator()
        return try await frames.next()
    }
}
