import Locking
import TestSupport

@testable import FrameSocketJitsi

/// What a connection's closures were told, in order.
final class Recorder: Sendable {
    enum Event: Equatable {
        case open
        case closed(String?)
        case space
    }

    private let log = Locked<[Event]>([])

    init(of connection: JitsiConnection) {
        connection.didOpen = { [log] in log.withLock { $0.append(.open) } }
        connection.didClose = { [log] error in log.withLock { $0.append(.closed(error.map { "\($0)" })) } }
        connection.streamHasSpaceAvailable = { [log] in log.withLock { $0.append(.space) } }
    }

    var events: [Event] { log.withLock { $0 } }

    /// The ends that were told; nil inside for one without an error.
    var ends: [String?] {
        events.compactMap { event in
            if case .closed(let text) = event { .some(text) } else { nil }
        }
    }
}

// FrameSocket has types of the same names.
typealias JitsiConnection = FrameSocketJitsi.SocketConnection
typealias JitsiUploader = FrameSocketJitsi.SampleUploader
