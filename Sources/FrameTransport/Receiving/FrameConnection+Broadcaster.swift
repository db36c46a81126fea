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
        private struct State {
            var last: Frame?
            var ending: CloseReason?
            var readers: [UInt64: Mailbox<Frame>] = [:]
        }

        private let state = Locked(State())
        /// Held while something is delivered, so that every reader gets everything in the same order.
        private let order = Locked(())
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
                var frames = connection.frames.makeAsyncIterator()
                do throws(TransportError) {
                    while let frame = try await frames.next() {
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
        package var readerCount: Int { state.withLock { $0.readers.count } }

        /// Delivers a frame to every reader, and keeps it for readers that join before the next one.
        package func publish(_ frame: Frame) {
            order.withLock { _ in
                // The frames that go are released outside the lock of the state, as those that the mailboxes replace.
                let (readers, _) = state.withLock { state -> ([UInt64: Mailbox<Frame>], Frame?) in
                    guard state.ending == nil else { return ([:], nil) }
                    defer { state.last = frame }
                    return (state.readers, state.last)
                }
                for (id, mailbox) in readers { mailbox.put(frame, to: id) }
            }
        }

        /// Ends every reader after its last frame.
        ///
        /// - Parameter reason: The reason; readers throw its error, if it has one.
        public func end(_ reason: CloseReason) {
            order.withLock { _ in
                let readers = state.withLock { state -> [UInt64: Mailbox<Frame>] in
                    guard state.ending == nil else { return [:] }
                    state.ending = reason
                    defer { state.readers = [:] }
                    return state.readers
                }
                for mailbox in readers.values { mailbox.end(reason.error) }
            }
        }

        /// Creates a reader, which begins with the last frame, if there is one.
        public func reader() -> Reader {
            let reader = Reader(of: self)
            state.withLock { state in
                // Within the lock, so that no newer frame can precede it.
                if let last = state.last { reader.mailbox.put(last, to: reader.id) }
                if let ending = state.ending { return reader.mailbox.end(ending.error) }
                state.readers[reader.id] = reader.mailbox
            }
            return reader
        }

        /// A reader of a fan-out; it leaves when it and its iterator are released.
        public final class Reader: AsyncSequence, Sendable {
            private static let identities = Counter()

            /// Identifies the reader within the process, so that a shared decoder knows what each reader has seen.
            fileprivate let id = UInt64(identities.next())
            fileprivate let mailbox = Mailbox<Frame>(capacity: 1, overflow: .replacesOldest)
            private let fanOut: Broadcaster

            fileprivate init(of fanOut: Broadcaster) {
                self.fanOut = fanOut
            }

            deinit {
                // Released outside the lock.
                _ = fanOut.state.withLock { $0.readers.removeValue(forKey: id) }
            }

            /// The number of frames that this reader missed because newer ones arrived.
            public var supersededFrames: Int { mailbox.replaced }

            /// Creates an iterator over the frames.
            public func makeAsyncIterator() -> Frames.Iterator {
                Frames.Iterator(mailbox: mailbox, owner: self)
            }
        }
    }
}

extension Mailbox<Frame> {
    /// Delivers a frame to the reader with this number.
    fileprivate func put(_ frame: Frame, to reader: UInt64) {
        var frame = frame
        frame.reader = reader
        put(frame)
    }
}
