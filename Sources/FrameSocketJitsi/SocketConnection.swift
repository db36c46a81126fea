internal import Dispatch
internal import FrameSocket
internal import FrameSocketApple
internal import FrameTransport
internal import Locking

/// The connection of a broadcast extension to its app, with the names of Jitsi's `SocketConnection`.
///
/// ```swift
/// let connection = SocketConnection(filePath: path)
/// connection?.didClose = { error in print("closed: \(String(describing: error))") }
/// if connection?.open() == true { print("connected") }
/// ```
///
/// A handler sets the closures, calls ``open()`` until it returns true, and hands the connection to a
/// ``SampleUploader``. Unlike the original it may be opened again after either side has closed it.
///
/// Thread safety: any thread may use a connection at any time. The closures are called one at a time, on a queue of the
/// connection, and never within one of its methods.
public final class SocketConnection: Sendable {
    private typealias Connection = FrameTransport.SocketConnection

    /// Whether there is a connection, and which one.
    ///
    /// Every event names the connection that it is about, because it may come after that connection has been replaced.
    private enum Phase {
        /// Closed, or not opened yet.
        case idle
        /// An attempt is in progress.
        case opening(Connection)
        case open(Connection)
        /// The path can never be opened, which has been reported.
        case impossible

        /// The open connection, or the one that is being opened; nil if there is none.
        var connection: Connection? {
            switch self {
            case .opening(let connection), .open(let connection): connection
            case .idle, .impossible: nil
            }
        }
    }

    private struct State {
        var phase = Phase.idle
        var writer = StreamWriter()
        var didOpen: (() -> Void)?
        var didClose: (((any Error)?) -> Void)?
        var streamHasSpaceAvailable: (() -> Void)?

        /// Changes the phase of a connection, unless it has been closed or replaced; returns whether it did.
        mutating func change(_ connection: Connection, to phase: Phase) -> Bool {
            guard self.phase.connection === connection else { return false }
            (self.phase, writer) = (phase, StreamWriter())
            return true
        }
    }

    /// The file at which the app listens, or will listen.
    private let filePath: String
    private let state = Locked(State())
    private let callbacks = DispatchQueue(label: "framesocket.jitsi.callbacks")

    /// Creates a connection to a path; nothing happens until it is opened.
    ///
    /// The original returns nil if the system has no socket left. This one needs none before it is opened, and never
    /// returns nil. A path that cannot be opened is reported to ``didClose``.
    ///
    /// - Parameter path: The path of the app's socket, such as `rtc_SSFD` in the container of the App Group.
    public init?(filePath path: String) {
        filePath = path
    }

    deinit {
        close()
    }

    /// Called when the connection has been opened, before ``streamHasSpaceAvailable``.
    public var didOpen: (() -> Void)? {
        get { state.withLock { $0.didOpen } }
        set { state.withLock { $0.didOpen = newValue } }
    }

    /// Called once when the app has closed the connection, or the connection has failed; not after ``close()``.
    ///
    /// The error is nil if the app closed without a reason, as Jitsi's apps do. Otherwise it has a sentence for the
    /// person, and on Apple systems the code of the reason in the domain `RPRecordingErrorDomain`: pass it to
    /// `finishBroadcastWithError(_:)`. A path that can never be opened, because it is empty or too long, is reported here
    /// too, by the first ``open()`` alone.
    public var didClose: (((any Error)?) -> Void)? {
        get { state.withLock { $0.didClose } }
        set { state.withLock { $0.didClose = newValue } }
    }

    /// Called when ``writeToStream(buffer:maxLength:)`` accepts more bytes: after opening, and after every write.
    public var streamHasSpaceAvailable: (() -> Void)? {
        get { state.withLock { $0.streamHasSpaceAvailable } }
        set { state.withLock { $0.streamHasSpaceAvailable = newValue } }
    }

    /// Makes one attempt to connect, and waits for its outcome.
    ///
    /// It takes no longer than the system's call. A handler repeats it, for example from a timer, until an app listens.
    ///
    /// - Returns: Whether the connection is open; false also while another thread's attempt is in progress.
    public func open() -> Bool {
        // An attempt that waits on the thread that it needs would never end.
        guard !IOThread.shared.isCurrent else { return false }
        let (attempt, isOpen) = state.withLock { state -> (Connection?, Bool) in
            switch state.phase {
            case .idle:
                let attempt = makeAttempt()
                state.phase = .opening(attempt)
                return (attempt, false)
            case .open: return (nil, true)
            case .opening, .impossible: return (nil, false)
            }
        }
        guard let attempt else { return isOpen }
        if let error = outcome(of: attempt) {
            attempt.close()
            let isFinal = error.code == .invalidPath || error.code == .pathTooLong
            let isNews = state.withLock { $0.change(attempt, to: isFinal ? .impossible : .idle) }
            if isNews, isFinal { reportClosing(.failed(error)) }
            return false
        }
        guard state.withLock({ $0.change(attempt, to: .open(attempt)) }) else { return false }
        callbacks.async { [weak self] in self?.didOpen?() }
        reportSpace()
        attempt.onEnd { [weak self, weak attempt] in
            guard let attempt else { return }
            self?.ended(attempt, attempt.closeReason ?? .closedByPeer(.stoppedByUser))
        }
        return true
    }

    /// Closes the connection after what was accepted has been sent; ``didClose`` is not called.
    public func close() {
        let connection = state.withLock { state in
            let connection = state.phase.connection
            if let connection { _ = state.change(connection, to: .idle) }
            return connection
        }
        connection?.close(.stoppedByUser)
    }

    /// Writes bytes of the messages that Jitsi's own uploader makes, for programs that keep it.
    ///
    /// Whole frames are put together and sent as such, so that a ``SampleUploader`` may use the same connection.
    ///
    /// - Parameters:
    ///   - buffer: The bytes.
    ///   - length: The number of bytes.
    /// - Returns: The number of bytes that were accepted; 0 if the connection is not open, or is still sending the
    ///   frame before: wait for ``streamHasSpaceAvailable``. -1 if the bytes are not a frame, which closes the connection
    ///   and calls ``didClose``.
    public func writeToStream(buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
        guard length > 0, let connection else { return 0 }
        let bytes = unsafe Span(_unsafeStart: buffer, count: length)
        do throws(TransportError) {
            let (count, frame) = try state.withLock { state throws(TransportError) in try state.writer.take(bytes) }
            if let frame {
                submit(frame, to: connection)
            } else if count > 0 {
                reportSpace()
            }
            return count
        } catch {
            ended(connection, .failed(error))
            connection.close(.error)
            return -1
        }
    }

    /// The open connection; nil if there is none.
    var connection: FrameTransport.SocketConnection? {
        state.withLock { if case .open(let connection) = $0.phase { connection } else { nil } }
    }

    /// One that does not reconnect: deployed apps end a broadcast by closing the connection.
    private func makeAttempt() -> Connection {
        var configuration = FrameTransport.SocketConnection.Configuration()
        configuration.reopens = false
        return FrameTransport.SocketConnection(path: filePath, configuration: configuration)
    }

    /// Waits for the outcome of an attempt; nil if it is open.
    private func outcome(of attempt: Connection) -> TransportError? {
        let outcome = Locked<TransportError?>(nil)
        let isKnown = DispatchSemaphore(value: 0)
        do throws(TransportError) {
            try attempt.open(within: .zero) { result in
                if case .failure(let error) = result { outcome.withLock { $0 = error } }
                isKnown.signal()
            }
        } catch {
            return error
        }
        isKnown.wait()
        return outcome.withLock { $0 }
    }

    private func ended(_ connection: Connection, _ reason: CloseReason) {
        if state.withLock({ $0.change(connection, to: .idle) }) { reportClosing(reason) }
    }

    /// Sends a frame, and reports room for more once it has gone.
    private func submit(_ frame: FrameMessage, to connection: Connection) {
        do throws(TransportError) {
            try connection.submit(frame) { [weak self, weak connection] _ in self?.frameIsGone(of: connection) }
        } catch  where error.code == .busy {
            // An uploader's frame is on its way, of which nobody tells the end.
            callbacks.asyncAfter(deadline: .now() + .milliseconds(5)) { [weak self] in
                self?.submit(frame, to: connection)
            }
        } catch {
            // Not wanted by the app, or the connection has ended.
            frameIsGone(of: connection)
        }
    }

    /// Accepts the next frame, unless the one that has gone was of an earlier connection, which may end late.
    private func frameIsGone(of connection: Connection?) {
        let isCurrent = state.withLock { state in
            guard let connection, state.phase.connection === connection else { return false }
            state.writer.frameIsGone()
            return true
        }
        if isCurrent { reportSpace() }
    }

    private func reportSpace() {
        callbacks.async { [weak self] in self?.streamHasSpaceAvailable?() }
    }

    /// Reports the end; without an error if there is no reason, which Jitsi's handlers name themselves.
    private func reportClosing(_ reason: CloseReason) {
        let error: (any Error)? =
            switch reason {
            case .closedByPeer(.stoppedByUser), .closedLocally: nil
            case .closedByPeer, .failed: BroadcastEnd(reason).shown
            }
        callbacks.async { [weak self] in self?.didClose?(error) }
    }
}
