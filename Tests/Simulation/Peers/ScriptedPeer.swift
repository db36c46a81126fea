internal import FrameWire

/// A program that is not of this package: one that speaks the plain format, or one that means harm.
struct ScriptedPeer {
    enum Role {
        /// Writes frames in any cut, and reads nothing or throws it away, as existing Jitsi senders do.
        case plainSender(reads: Bool)
        /// Reads frames, and never writes.
        case plainReceiver
        case hostileSender(Hostility)
        case hostileReceiver(Hostility)

        var isSender: Bool {
            switch self {
            case .plainSender, .hostileSender: true
            case .plainReceiver, .hostileReceiver: false
            }
        }
    }

    var role: Role
    var place: Int
    /// Its number among those who send.
    var identity: UInt16
    var socketCapacity: Int
    /// What each side shows first; empty if there are no tokens.
    var token: [UInt8] = []
    /// How many bytes of the other side's token are still to come.
    var tokenRemaining = 0

    var socket = -1
    var listener = -1
    var isConnecting = false
    var outgoing: [UInt8] = []
    var written = 0
    /// How many bytes of a flood are still to be made.
    var floodRemaining = 0
    var leavesWhenWritten = false
    var lastNumber: UInt32 = 0
    var random = Random(seed: 0)

    /// How many bytes it reads at a time, and how long it waits before the next read; 0 for at once.
    var readSize = 10_240
    var readPause: UInt64 = 0
    var readsNothing = false
    var isWaitingToRead = false
    var sharing = PeerSharing()

    /// Forgets what belonged to the connection that has ended.
    mutating func leaveConnection() {
        socket = -1
        isConnecting = false
        (outgoing, written) = ([], 0)
        sharing = PeerSharing()
        floodRemaining = 0
        leavesWhenWritten = false
        tokenRemaining = token.count
        isWaitingToRead = false
    }
}

extension ScriptedPeer: CustomStringConvertible {
    var description: String {
        "\(role) at place \(place), buffer of \(socketCapacity), \(token.isEmpty ? "no token" : "with a token"), "
            + "reads \(readSize) bytes every \(readPause / 1_000) us"
    }
}
