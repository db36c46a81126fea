import FrameWire

@testable import FrameTransport

/// Drives a ``ReceiverMachine`` without a socket: a run of bytes that it reads from, and a note of what it commands.
struct ReceiverRig: ~Copyable {
    var machine: ReceiverMachine
    /// What lies in the socket.
    var input: [UInt8] = []
    /// Whether the stream ends behind that.
    var isEnded = false
    /// How many bytes one read brings at most.
    var readLimit = Int.max
    /// How many frames the consumer has room for each time that it is asked.
    var room = Int.max
    /// The bytes of frames that wait for the consumer, and how often more had to wait for all of them.
    var waiting = 0
    private(set) var waits = 0
    var now: UInt64 = 1
    /// The descriptors that arrive with the next read, and whether others are lost.
    var passed = (count: 0, areLost: false)
    /// What becomes of a buffer that is to be mapped: an error, or nil if there is no room; mapped if not set.
    var refusal: TransportError??
    /// Whether the place at the server is still there when the token has come.
    var keepsPlace = true
    /// Whether the socket takes requests.
    var isWritable = true

    private(set) var frames: [Frame] = []
    private(set) var audio: [AudioMessage] = []
    private(set) var statuses: [SenderStatus] = []
    private(set) var droppedAudio = 0
    private(set) var yields = 0
    private(set) var reads = 0
    private(set) var bytesRead = 0
    private(set) var deadline: UInt64?
    private(set) var requested: [Int] = []
    private(set) var withdrawals = 0
    private(set) var written: [UInt8] = []
    private(set) var sharedFrames: [(frame: Frame, header: SharedFrameHeader)] = []
    private(set) var mapped: [SharedFrameHeader.Buffer] = []
    private(set) var dropped = 0
    private(set) var unmapped = 0
    private(set) var isPresented = false
    private(set) var hasShutDownSending = false
    private(set) var reason: CloseReason?
    /// How many commands came after the last one.
    private(set) var commandsAfterClose = 0

    /// Starts the connection, which the program takes at once unless `isTaken` is false.
    init(
        pool: FrameBytes.Pool = FrameBytes.Pool(maximumIdleBytes: 1 << 20),
        isTaken: Bool = true,
        _ change: (inout ReceiverMachine.Configuration) -> Void = { _ in }
    ) {
        var configuration = ReceiverMachine.Configuration()
        change(&configuration)
        machine = ReceiverMachine(configuration, pool: pool)
        machine.start(at: now)
        if isTaken { machine.taken(at: now) }
        run()
    }

    /// Puts bytes into the socket and reports them.
    mutating func arrive(_ bytes: [UInt8], end: Bool = false) {
        input += bytes
        isEnded = isEnded || end
        machine.becameReady(end ? [.readable, .hangup] : .readable, at: now)
        run()
    }

    /// Puts bytes into the socket that bring descriptors along, and reports them.
    mutating func arrive(_ bytes: [UInt8], passing count: Int, losing: Bool = false) {
        passed = (count, losing)
        arrive(bytes)
    }

    /// Carries out what the machine commands, up to a yield.
    mutating func run() {
        while let command = machine.nextCommand() {
            perform(command)
            if case .yield = command { return }
        }
    }

    /// Gives the machine its next turn, and those that follow.
    mutating func resumeToTheEnd() {
        var before = -1
        while yields != before {
            before = yields
            machine.resume(at: now)
            run()
        }
    }

    private mutating func perform(_ command: ReceiverMachine.Command) {
        if reason != nil { commandsAfterClose += 1 }
        switch command {
        case .read: read()
        case .readToken(let count): readToken(count)
        case .keepPlace: machine.didKeepPlace(keepsPlace, at: now)
        case .writeToken: machine.didWriteToken(nil, at: now)
        case .discard: discard()
        case .reserveRoom(let onceEmpty):
            waits += onceEmpty && waiting > 0 ? 1 : 0
            machine.reserved(onceEmpty && waiting > 0 ? 0 : room, behind: waiting)
        case .deliver(let frame, _): frames.append(frame)
        case .deliverShared(let frame, let header, _): sharedFrames.append((frame, header))
        case .mapBuffer(let header): map(header)
        case .dropDescriptor: dropped += 1
        case .unmapBuffers: unmapped += 1
        case .deliverAudio(let message): audio.append(message)
        case .deliverStatus(let status): statuses.append(status)
        case .askForMemory(let byteCount, _): requested.append(byteCount)
        case .withdrawRequestForMemory: withdrawals += 1
        case .writeRequests:
            guard isWritable else { return machine.didWriteRequests(0) }
            written += machine.outbox.bytes
            machine.didWriteRequests(machine.outbox.bytes.count)
        case .setDeadline(let deadline): self.deadline = deadline
        case .present: isPresented = true
        case .yield: yields += 1
        case .shutDownSending: hasShutDownSending = true
        case .close(let reason): self.reason = reason
        case .countDroppedAudio: droppedAudio += 1
        case .watchRoom, .shutDownReceiving, .endDelivery: break
        }
    }

    private mutating func read() {
        do throws(TransportError) {
            let (first, second) = unsafe try machine.readTargets()
            let count = min(input.count, first.count + second.count, readLimit)
            guard count > 0 else { return endOrBlock() }
            reads += 1
            bytesRead += count
            let direct = min(count, first.count)
            unsafe first.copyBytes(from: input[..<direct])
            unsafe second.copyBytes(from: input[direct..<count])
            // A read ends with the bytes that descriptors arrive with.
            let isShort = count < first.count + second.count && passed == (0, false)
            input.removeFirst(count)
            if passed != (0, false) { machine.didReceiveDescriptors(passed.count, areLost: passed.areLost) }
            passed = (0, false)
            machine.didRead(count, into: first.count, isShort: isShort, at: now)
        } catch {
            machine.readFailed(error)
        }
    }

    private mutating func map(_ header: SharedFrameHeader.Buffer) {
        if let refusal { return machine.bufferRefused(refusal) }
        mapped.append(header)
        machine.bufferMapped(header)
    }

    private mutating func readToken(_ count: Int) {
        guard !input.isEmpty else { return endOrBlock() }
        let bytes = Array(input.prefix(count))
        input.removeFirst(bytes.count)
        machine.didReadToken(bytes.span, at: now)
    }

    private mutating func discard() {
        guard !input.isEmpty else { return endOrBlock() }
        input.removeFirst(min(input.count, 1000))
        machine.didDiscard()
    }

    private mutating func endOrBlock() {
        if isEnded { machine.endOfStream() } else { machine.wouldBlock(at: now) }
    }
}
