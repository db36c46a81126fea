internal import Locking

/// Something that happened to a server or to a connection, for a log: a refusal, a drop, an end.
///
/// Set ``FrameServer/Configuration/log`` or ``SocketConnection/Configuration/log`` to get them.
public struct TransportEvent: Sendable, Hashable, CustomStringConvertible {
    /// How important an event is; the raw values are those of swift-log.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        /// The usual course of events.
        case debug
        /// A change that an operator may want to see.
        case info
        /// Something is lost or refused; everything else goes on.
        case warning
        /// The server can do less than it should.
        case error
    }

    /// The kind of event.
    ///
    /// Later versions may add codes; compare with `==`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// A stable name, for logs and alerts.
        public let rawValue: String

        private init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable name.
        public var description: String { rawValue }

        /// A connection is open: frames may be sent on it.
        package static let connectionOpened = Code("connection.opened")
        /// A connection has ended cleanly.
        package static let connectionEnded = Code("connection.ended")
        /// A connection has failed; ``TransportEvent/error`` says why.
        package static let connectionFailed = Code("connection.failed")
        /// A sender was refused, because every slot is taken: ``FrameServer/Limits/maximumConnections``.
        public static let refusedForPlace = Code("refused.place")
        /// A sender was refused, because its user may not connect.
        public static let refusedForUser = Code("refused.user")
        /// A sender was refused, because it did not send the right token in time.
        public static let refusedForToken = Code("refused.token")
        /// A frame could not be decoded, or a frame to send could not be encoded.
        package static let frameDropped = Code("frame.dropped")
        /// The program's handler of a connection has thrown an error: ``FrameServer/run(_:)``.
        package static let handlerFailed = Code("handler.failed")
        /// Frames that had arrived were discarded, because the program closed or released their connection before it had
        /// taken them.
        package static let framesDiscarded = Code("frames.discarded")
        /// The unread frames of a departed sender were dropped.
        package static let departedSenderDropped = Code("sender.dropped")
        /// The server does not accept senders for a while, because the system is short of descriptors or memory.
        package static let acceptPaused = Code("accept.paused")
        /// The socket's file was removed or replaced, and the server has bound its path again.
        package static let pathRestored = Code("path.restored")
        /// The socket's file was removed or replaced, and the path cannot be bound again for now: nobody can connect.
        package static let pathLost = Code("path.lost")
        /// The server has stopped listening, because its socket failed.
        package static let serverFailed = Code("server.failed")
        /// A receiver takes less than its uploader is given; with the level ``TransportEvent/Level/info``, no longer.
        package static let receiverSlow = Code("receiver.slow")
        /// The maximum number of bytes a second does not suffice for every frame of an uploader; likewise.
        package static let budgetLow = Code("budget.low")
        /// Frames are submitted faster than they can be encoded; likewise.
        package static let encoderSlow = Code("encoder.slow")
        /// An attempt to reach a server has failed; the next one follows.
        package static let attemptFailed = Code("attempt.failed")
    }

    /// How important the event is.
    public let level: Level

    /// The kind of event.
    public let code: Code

    /// What happened, as a sentence without its period.
    public let message: String

    /// The path of the socket, or its address and port.
    public let endpoint: String

    /// The number of the connection, as in ``FrameConnection/id``; nil if the event is about none, or the connection is
    /// a sender's.
    public let connection: Int?

    /// The identity of the connection's peer; nil if it is not known.
    public let peer: PeerPolicy.Credentials?

    /// The error that caused the event, if one did.
    public let error: TransportError?

    /// The number of earlier events with the same code that were not reported, because there were too many of them.
    public internal(set) var omitted = 0

    package init(
        _ level: Level,
        _ code: Code,
        _ message: String,
        endpoint: String,
        connection: Int? = nil,
        peer: PeerPolicy.Credentials? = nil,
        error: TransportError? = nil
    ) {
        (self.level, self.code, self.message, self.endpoint) = (level, code, message, endpoint)
        (self.connection, self.peer, self.error) = (connection, peer, error)
    }

    /// The endpoint, the connection, the message and the code, in one line.
    public var description: String {
        var text = endpoint
        if let connection { text += ", connection \(connection)" }
        text += ": \(message) [\(code)]"
        if omitted > 0 { text += ", and \(omitted) more" }
        return text
    }
}

/// Passes events to a program's log, and keeps peers from flooding it.
///
/// This is the only limit on how often something is reported.
final class EventLog: Sendable {
    /// What a server or connection calls with its events.
    typealias Sink = @Sendable (TransportEvent) -> Void

    /// The number of events with one code that are reported in each ``period``.
    static let eventsPerPeriod = 10

    /// The period, in nanoseconds: 10 s.
    static let period: UInt64 = 10_000_000_000

    private struct Tally {
        var start: UInt64
        var reported = 0
        var omitted = 0
        /// The cause that was reported last of what is tried again and again.
        var cause: String?
    }

    private let sink: Sink
    private let endpoint: String
    private let tallies = Locked<[TransportEvent.Code: Tally]>([:])

    /// Creates a log of what happens at an endpoint; nil without a sink, so that events cost nothing.
    init?(_ sink: Sink?, endpoint: String) {
        guard let sink else { return nil }
        (self.sink, self.endpoint) = (sink, endpoint)
    }

    /// Reports an event, unless there were too many of its kind; whoever calls holds no lock.
    ///
    /// - Parameters:
    ///   - level: How important the event is.
    ///   - code: The kind of event.
    ///   - message: What happened.
    ///   - connection: The number of the connection.
    ///   - peer: Its peer.
    ///   - error: The error that caused the event.
    ///   - isRepeated: Whether it comes of what is tried again and again: it is reported when its cause changes, or has been
    ///     forgotten with ``forgetCause(of:)``.
    ///   - now: The time.
    func report(
        _ level: TransportEvent.Level,
        _ code: TransportEvent.Code,
        _ message: String,
        connection: Int? = nil,
        peer: PeerPolicy.Credentials? = nil,
        error: TransportError? = nil,
        isRepeated: Bool = false,
        at now: UInt64 = MonotonicClock.now()
    ) {
        let omitted: Int? = tallies.withLock { tallies in
            var tally = tallies[code] ?? Tally(start: now)
            defer { tallies[code] = tally }
            if isRepeated {
                let cause = error?.description ?? message
                guard cause != tally.cause else { return nil }
                tally.cause = cause
            }
            if now &- tally.start >= Self.period { (tally.start, tally.reported) = (now, 0) }
            guard tally.reported < Self.eventsPerPeriod else {
                tally.omitted += 1
                return nil
            }
            tally.reported += 1
            defer { tally.omitted = 0 }
            return tally.omitted
        }
        guard let omitted else { return }
        var event = TransportEvent(
            level,
            code,
            message,
            endpoint: endpoint,
            connection: connection,
            peer: peer,
            error: error
        )
        event.omitted = omitted
        sink(event)
    }

    /// Has the next event of this code reported, whatever its cause.
    func forgetCause(of code: TransportEvent.Code) {
        tallies.withLock { $0[code]?.cause = nil }
    }
}
