internal import FrameTransport

extension Errno {
    /// The process has no more descriptors.
    static let noDescriptors = Errno(24)
}

/// Who hears of a change.
enum SocketWatcher {
    case nobody
    /// An I/O thread, on behalf of one of its registrations.
    case thread(Int, registration: Int)
    /// A program that is not of this package.
    case peer(Int)
}

/// One end of a stream, or a socket that listens.
struct SimSocket {
    enum Phase {
        case fresh
        case listening(place: Int)
        case connecting(place: Int)
        case connected
        case failed(Errno)
    }

    var isOpen = true
    let isTCP: Bool
    var phase = Phase.fresh
    /// The other end; -1 if there is none any more.
    ///
    /// A TCP socket that has connected to itself is its own.
    var peer = -1
    /// Whether a process of this package holds it, so that it counts among the descriptors.
    var isOurs: Bool
    /// What this end may read.
    var inbound = Pipe()
    /// The descriptors that go with these bytes.
    var passed: [PassedDescriptor] = []
    /// How many bytes of this end may be unread at the other.
    var capacity: Int
    var hasShutSending = false
    var hasShutReceiving = false
    var peerHasEnded = false
    /// A reset, which is reported once what is visible has been read.
    var failure: Errno?
    /// When the other end last read something of this one's.
    var takenAt: UInt64 = 0
    /// A write found it full: its room is a change.
    var isBlocked = false
    var hasArrivalScheduled = false
    var watcher = SocketWatcher.nobody
    var watchesRoom = false
    /// Whether it is in its thread's list of changes already.
    var isReported = false
    /// Since when.
    var reportedAt: UInt64 = 0
    /// Connections that wait to be accepted, if it listens.
    var backlog: [Int] = []
    var backlogLimit = 0
    /// What follows the connection, if a sender of this package has it.
    var monitor: SenderMonitor?
    /// The other end, also once that has gone.
    var formerPeer = -1
    /// Whether the connection was reset, so that its end says nothing of what the peer meant.
    var wasBroken = false
    /// Whether a plain sender closed it between two messages.
    var hasEndedInOrder = false
    var random: Random

    /// Whether the end of the stream can be read.
    var isAtEnd: Bool { inbound.count == 0 && (peerHasEnded || hasShutReceiving) }
}

/// A path or a port of the loopback address.
struct Place {
    var isPort = false
    /// The socket that listens there; -1 for none.
    var listener = -1
    /// Whether connects hang, as to a firewalled port.
    var hangs = false
    /// Whether the port lies where the system takes local ports from, so that a connect may meet itself.
    var isEphemeral = false
}
