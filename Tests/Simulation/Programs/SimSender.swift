internal import FrameSocket
internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// A sender of this package: its machines, and what the shell around them keeps.
final class SimSender: Owner {
    let index: Int
    let plan: SenderPlan
    let tokens: HandshakeTokens?

    unowned let world: World
    var machine: SenderMachine
    /// How often the machine has called its system in this event.
    var calls = 0
    var lane: SendLaneMachine
    var socket = -1
    var registration = -1
    var timer = -1

    // The program.
    /// Frames that were offered, by number from 1.
    var offers: [Offer] = []
    var audioNumber: UInt32 = 0
    /// Offers that are still to come: the ends of the runs that the plan asked for.
    var runs: [Plan.Offering] = []
    /// The frame that waits for the lane, if frames are sent without an uploader.
    var ticket = 0
    var submitted: Set<Int> = []
    /// Callers that wait for an opening, and when each has to be told.
    var waiters: [Waiter] = []
    /// When its last connection ended.
    var disconnectedAt: UInt64 = 0
    var content: UInt32 = 0

    // What is known of it.
    var hasReadStop = false
    var hasClosed = false
    /// Whether it is to be connected even if nobody waits for that.
    var isWanted = false
    /// Whether the program, or its pacing, may repeat a frame by itself.
    ///
    /// A pacing that did stays in force for what it has begun.
    var mayRepeat = false
    var closeReason: CloseReason?
    var states: [SocketConnection.State] = []
    var terms = ReceiverTerms()
    var sentHeaders: [UInt32: FrameHeader] = [:]

    /// What was sent in the last seconds, since the maximum changed.
    var bytesSent: [(at: UInt64, count: Int)] = []
    var byteRate: Int?
    /// Until when the uploader has held frames back for lack of room.
    var heldBackUntil: UInt64 = 0

    /// The uploader's machine, if there is an uploader.
    var uploader: SimUploader?
    var uploadTimer = -1
    var pacing = SampleUploader.Pacing.everyFrame {
        didSet {
            if pacing.comparesImages { hasCompared = true }
            if pacing.skipsUnchanged, pacing.keepAlive != nil { mayRepeat = true }
        }
    }
    var job: EncodingJob?
    /// The memory that its image is copied to.
    var jobMemory: SharedMemory?
    /// How the frames were encoded, and for which connection.
    var encoded: [UInt32: (look: Look, connection: Int)] = [:]
    /// When the program last changed the size of its frames, and when it or the receiver changed their pacing.
    var resizedAt: UInt64 = 0
    var pacedAt: UInt64 = 0
    /// How many frames had been offered when the program last lowered its limits: the image of each may be gone.
    var offersBeforeLimits = 0
    /// Whether the machine decides at this moment what to send.
    var isBeginning = false
    var encoderFails = false
    /// The frames that could not be encoded, or are outside of the limits.
    var unsendable: Set<UInt32> = []
    /// How many frames were not accepted because they are outside of the limits.
    var outsideLimits = 0
    /// Whether frames were ever compared, so that one may have been left out because it equals the one before.
    var hasCompared = false
    /// The callers of `finish`: how many frames had been offered when each began to wait, and when that was.
    var finishers: [Int: (offers: Int, at: UInt64)] = [:]
    var lastFinisher = 0
    /// Whether it may share memory now.
    var sharesMemory = false
    var submittedAt: UInt64 = 0
    /// When it last tried to connect.
    var connectedAt: UInt64?
    /// When its connection opened last.
    var lastOpenedAt: UInt64 = 0
    /// Whether anything was sent over the connection whose socket was closed last.
    var hadSent = false
    /// How many connections in a row have come to nothing.
    var fruitless = 0
    /// The event in which the receiver's end was read.
    var sawEndAt = -1
    /// Whether its receiver has said that it discards something.
    var isToldOfDiscards = false
    /// When a frame last could not be sent.
    var failedAt: UInt64 = 0
    /// How many frames had begun on a connection that was lost: each keeps its number, whatever becomes of it.
    var lostCount = 0
    var lastSequence: UInt64?
    var lastWritten: UInt32 = 0
    /// Whether the system took a frame for a receiver that had gone, and none since for another.
    var hasLostFrame = false
    var hasTurn = false

    // Shared memory.
    let store = SharedBufferStore()
    /// Whether the message submitted last is of a frame in shared memory.
    var submitsShared = false
    /// When the uploader last decided to send a frame.
    var decidedAt: UInt64?
    /// A frame that is yet to be submitted, and its connection.
    var lateSubmission: (FrameMessage, Int)?
    /// Whether a frame is being sent, or about to be.
    var isSubmitting: Bool { !submitted.isEmpty || lateSubmission != nil }
    /// Since when a frame has waited for a shared buffer; nil while none does.
    var bufferWaitSince: UInt64?
    /// When the uploader first heard of the present connection.
    var openedAt: UInt64 = 0

    /// What decides how an image is encoded.
    struct Look: Equatable {
        let scale: SampleUploader.OutputScale
        let quality: Int
        /// What the program has set, whatever the receiver prefers.
        let ownScale: SampleUploader.OutputScale
        let ownQuality: Int

        init(_ machine: borrowing UploaderMachine) {
            (scale, quality) = (machine.configuration.scale, machine.configuration.quality)
            (ownScale, ownQuality) = (machine.ownConfiguration.scale, machine.ownConfiguration.quality)
        }
    }

    /// Whether a size is what the receiver prefers of an image: fitted in the box, and no larger than the program sends.
    func isPreferred(_ size: BufferSize, of offer: Offer, in box: BufferSize, _ look: Look) -> Bool {
        let wanted = look.ownScale.preferring(box)
            .plan(forWidth: offer.size.width, height: offer.size.height, orientation: offer.orientation).canvas
        if size == wanted { return true }
        // The program's size may have changed since the image was scaled.
        return offer.scale != look.ownScale && max(size.width, size.height) <= max(box.width, box.height)
            && min(size.width, size.height) <= min(box.width, box.height)
    }

    struct Offer {
        var content: UInt32
        var length: Int
        var timestamp: UInt64
        var offeredAt: UInt64
        /// How often it was written to a connection.
        var written = 0
        /// Whether the pacing held it back.
        var isHeldBack = false
        /// What is submitted; `mixed` for an image that is copied.
        var kind = Plan.Images.none
        var size = BufferSize(width: 64, height: 64)
        var orientation = FrameOrientation.up
        /// What the program had set then.
        var scale = SampleUploader.OutputScale.full
        /// The revision of the terms under which it was offered.
        var revision: UInt64 = 0

        var isImage: Bool { if case .none = kind { false } else { true } }
    }

    /// What an opening calls, which the sender keeps.
    ///
    /// - Note: `@unchecked Sendable` holds because everything here runs on one thread.
    struct Caller: @unchecked Sendable {
        unowned let sender: SimSender
    }

    struct Waiter {
        let opening: Opening
        var isSettled = false
        /// When the machine heard of it, and whether an attempt was in progress then.
        var beganAt: UInt64 = 0
        var joinedAttempt = false
    }

    /// Decides what the program states as damaged.
    var damaging: Random
    let statesDamage: Bool
    /// The frame that was submitted last, if it is an image.
    var statedImage: UInt32?
    /// The frames that were last made into a JPEG, and copied to a shared buffer.
    var prepared: [Bool: UInt32] = [:]

    /// Decides which of the program's threads and the connection's is faster.
    var racing: Random
    /// What the program does soon, and may do sooner.
    var pending: [Pending] = []

    var thread: Int { plan.thread }
    /// What follows its connection.
    var monitor: SenderMonitor? { socket >= 0 ? world.sockets[socket].monitor : nil }

    func becameReady(_ readiness: Readiness) {
        let isReadable = !readiness.isDisjoint(with: [.readable, .hangup])
        world.change(self) {
            $0.becameReady(readable: isReadable, writable: readiness.contains(.writable), self)
        }
    }

    func deadlinePassed() { world.change(self) { $0.deadlinePassed(self) } }

    init(_ plan: SenderPlan, _ world: World) {
        (self.plan, self.world) = (plan, world)
        index = world.senders.count
        racing = Random(seed: world.seed, part: 100_000 + index)
        damaging = Random(seed: world.seed, part: 300_000 + index)
        statesDamage = damaging.chance(50)
        let place = world.plan.places[plan.place]
        tokens = place.usesTokens ? HandshakeTokens(shared: Tokens.bytes) : nil
        var configuration = SocketConnection.Configuration()
        configuration.reopens = plan.reopens
        configuration.tokens = tokens
        configuration.retryInterval = Duration(nanoseconds: plan.retryInterval)
        machine = SenderMachine(name: "place", configuration, sharesMemory: !place.isPort)
        lane = SendLaneMachine(padsShortBodies: plan.pads, info: Statement.info(plan.statement))
    }
}

/// An uploader's machine, in a place of its own: one that is a value in an optional would be copied whenever it is read.
final class SimUploader: Owner {
    unowned let sender: SimSender
    var machine: UploaderMachine
    var thread: Int { sender.thread }

    init(_ configuration: SampleUploader.Configuration, _ sender: SimSender) {
        self.sender = sender
        machine = UploaderMachine(configuration, owner: UInt64(sender.index) + 1)
    }

    func becameReady(_: Readiness) {}
    func deadlinePassed() { sender.world.handle(sender) { [sender] in $0.deadlinePassed(at: sender.world.now) } }
}
