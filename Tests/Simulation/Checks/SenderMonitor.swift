internal import FrameTransport
internal import FrameWire

/// Follows both directions of one connection of a sender of this package, byte for byte, and knows what may come next.
///
/// It looks at the bytes alone, and knows nothing of the machines that wrote and read them.
final class SenderMonitor {
    /// A frame or audio message that has begun.
    private(set) var identityBytes: [UInt8] = []
    /// The quality of the last frame, which its length tells.
    var lastQuality = 0
    /// How the last frame was encoded; what was begun since may not have been sent.
    var lastLook: SimSender.Look?

    unowned let sender: SimSender
    let socket: Int
    var tokenRemaining: Int
    var serverTokenRemaining: Int
    var decoder = FrameMessageDecoder()
    var requests = ControlDecoder()
    /// After bytes that are no request the sender reads and drops, or has ended.
    var understandsRequests = true

    // What the sender has read.
    var hasReadHello = false
    var wants = ControlRequest.Wants.frames
    /// What was wanted when the last status was written.
    var answeredWants = ControlRequest.Wants.frames
    /// When what is wanted, or paused, last changed.
    var changedAt: UInt64
    var isPauseAsked = false
    var stopRead: ControlRequest.FinishReason?
    /// Requests that want a status, and the pings among them.
    var questions = 0
    var lastPing: UInt64?
    var pingsRead: Set<UInt64> = []
    /// How many repeats of the last frame have a reason.
    var hasReasonToRepeat = false
    /// The preferences that were read and may each apply to the frame that the receiver has.
    var newPreferences = 0
    /// Whether the frame that has begun may repeat the one before it.
    var mayRepeat = false
    /// When a frame was asked for that has not come: only one that begins later is an answer.
    var frameAskedAt: UInt64?
    /// The frame that was the latest then: an older one is no answer either, although it may have come.
    var frameAskedFor: UInt32 = 0
    var hasOlderFrameCome = false
    /// When the last request was read.
    var reasonAt: UInt64 = 0

    /// Whether its info was asked for.
    var wantsInfo = false
    /// Whether the receiver has ever asked for no frames, or paused: the info comes at once then, and may have no size.
    var hasAskedForSilence = false
    /// What the receiver stated.
    var infoRead: ControlRequest.SessionInfo?

    // What it has written.
    var info: ControlRequest.SessionInfo?
    var kind = Kind.none
    /// Whether a hello had been read when the sender began to end.
    var mustTell = false
    var statuses = 0
    var lastState: SenderStatus.State?
    var lastPongWritten: UInt64?
    var isPausedOnWire = false
    var stoppedOnWire: ControlRequest.FinishReason?
    var lastFrame: UInt32 = 0
    var lastAudio: UInt32 = 0
    /// When the first byte of the message under way was written.
    var beganAt: UInt64 = 0
    /// The numbers of the frames that are out, in order.
    var frames: [UInt32] = []
    var header: FrameHeader?
    var isOver = false
    var shared = SharedMonitor()
    /// When the announcement began that the next message belongs to.
    var announcedAt: UInt64?
    /// The preferences that the sender has to refuse, and those that it has refused.
    var refusals: UInt64 = 0
    var lastRefusals: UInt64 = 0

    enum Kind {
        case none, frame, audio
    }

    init(_ sender: SimSender, at now: UInt64) {
        (self.sender, socket, changedAt) = (sender, sender.socket, now)
        tokenRemaining = sender.tokens?.own.count ?? 0
        serverTokenRemaining = tokenRemaining
    }

    /// The receiver is owed a frame, the latest even if it has it.
    func askForFrame(at now: UInt64, latest: UInt32) {
        hasReasonToRepeat = true
        (frameAskedAt, frameAskedFor, hasOlderFrameCome) = (now, latest, false)
        shared.isAskedByDecline = false
    }

    /// Whether the stream stands between two messages.
    var isBetweenMessages: Bool { !decoder.isInHeader && decoder.bodyRemaining == 0 }

    /// The message that has begun is no frame: the next one may repeat instead.
    func keepReasonToRepeat() {
        if mayRepeat { hasReasonToRepeat = true }
        mayRepeat = false
    }

    func beginBody(_ kind: Kind) {
        self.kind = kind
        identityBytes.removeAll(keepingCapacity: true)
    }

    /// Takes in the beginning of a body; true once it says whose it is.
    func takeBody(_ bytes: Span<UInt8>) -> Bool {
        guard identityBytes.count < Content.headerByteCount else { return false }
        for index in 0..<min(bytes.count, Content.headerByteCount - identityBytes.count) {
            identityBytes.append(bytes[index])
        }
        return identityBytes.count == Content.headerByteCount
    }
}
