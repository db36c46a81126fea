import FrameWire

@testable import FrameTransport

/// The system of a ``ReceiverMachine`` without a socket: a run of bytes that it reads from, and a note of what it calls.
final class ReceiverRig: ReceiverMachine.System {
    var machine: ReceiverMachine
    /// The bytes that have arrived and were not read.
    var input: [UInt8] = []
    /// Whether the stream ends after them.
    var isEnded = false
    /// The most bytes that one read returns.
    var readLimit = Int.max
    /// What the next read and the next write of requests fail with.
    var readError: Errno?
    var writeError: Errno?
    /// How many frames the consumer has room for each time that it is asked.
    var room = Int.max
    /// The bytes of frames that wait for the consumer, and how often a frame had to wait for that memory.
    var waiting = 0
    private(set) var waits = 0
    var now: UInt64 = 1
    /// The descriptors that arrive with the next read, and whether others are lost.
    var passed = (count: 0, areLost: false)
    private var arrivals: (count: Int, areLost: Bool)?
    /// Whether the socket takes requests.
    var isWritable = true

    private(set) var frames: [Frame] = []
    private(set) var audio: [AudioBlock] = []
    private(set) var yields = 0
    var isCrowded = false
    private(set) var reads = 0
    private(set) var bytesRead = 0
    /// The bodies that have asked for memory, each as often as it has asked.
    private(set) var requested: [Int] = []
    /// Whether the program has yet to take frames.
    var hasUntakenFrames = false
    /// Whether there is memory for them.
    var hasMemory = false
    private(set) var withdrawals = 0
    private(set) var written: [UInt8] = []
    private(set) var sharedFrames: [(frame: Frame, header: SharedFrameHeader)] = []
    private(set) var mapped: [SharedFrameHeader.Buffer] = []
    private(set) var isPresented = false
    private(set) var hasShutDownSending = false
    private(set) var reason: CloseReason?
    /// How many calls that have an effect came after the last one.
    private(set) var callsAfterClose = 0

    /// Starts the connection, which the program takes at once unless `isTaken` is false.
    init(
        pool: FrameBytes.Pool = FrameBytes.Pool(maximumIdleBytes: 1 << 20),
        isTaken: Bool = true,
        _ change: (inout ReceiverMachine.Configuration) -> Void = { _ in }
    ) {
        var configuration = ReceiverMachine.Configuration()
        change(&configuration)
        machine = ReceiverMachine(configuration, pool: pool)
        machine.start(self)
        if isTaken { machine.taken(self) }
    }

    var deadline: UInt64? { machine.deadline }

    /// Puts bytes into the socket and reports them.
    func arrive(_ bytes: [UInt8], end: Bool = false) {
        input += bytes
        isEnded = isEnded || end
        machine.becameReady(end ? [.readable, .hangup] : .readable, self)
    }

    /// Puts bytes into the socket that bring descriptors along, and reports them.
    func arrive(_ bytes: [UInt8], passing count: Int, losing: Bool = false) {
        passed = (count, losing)
        arrive(bytes)
    }

    /// Has memory for the body that waits, and reports it.
    func makeMemoryAvailable() {
        hasMemory = true
        machine.memoryAvailable(self)
        hasMemory = false
    }

    /// Gives the machine its next turn, and those that follow.
    func resumeToTheEnd() {
        var before = -1
        while yields != before {
            before = yields
            machine.resume(self)
        }
    }

    // MARK: The socket

    func read(into first: MemoryRun, _ second: MemoryRun) throws(Errno) -> Transfer {
        if let readError { throw readError }
        let count = min(input.count, first.count + second.count, readLimit)
        guard count > 0 else { return isEnded ? .bytes(0, isShort: true) : .wouldBlock }
        reads += 1
        bytesRead += count
        let direct = min(count, first.count)
        unsafe first.copyBytes(from: input[..<direct])
        unsafe second.copyBytes(from: input[direct..<count])
        input.removeFirst(count)
        // A read ends with the bytes that descriptors arrive with.
        let isShort = input.isEmpty && count < first.count + second.count && passed == (0, false)
        arrivals = passed == (0, false) ? nil : passed
        passed = (0, false)
        return .bytes(count, isShort: isShort)
    }

    func readToken(into run: MemoryRun) throws(Errno) -> Transfer {
        let count = min(input.count, run.count)
        guard count > 0 else { return isEnded ? .bytes(0, isShort: true) : .wouldBlock }
        unsafe run.copyBytes(from: input[..<count])
        input.removeFirst(count)
        return .bytes(count, isShort: count < run.count)
    }

    func discard() throws(Errno) -> Transfer {
        let count = min(input.count, 1000)
        guard count > 0 else { return isEnded ? .bytes(0, isShort: true) : .wouldBlock }
        input.removeFirst(count)
        return .bytes(count, isShort: count < 1000)
    }

    func takeArrivals() -> (count: Int, areLost: Bool)? { arrivals.take() }

    func write(_ requests: [UInt8]) throws(Errno) -> Transfer {
        noteEffect()
        if let error = writeError.take() { throw error }
        guard isWritable else { return .wouldBlock }
        written += requests
        return .bytes(requests.count, isShort: false)
    }

    func shutDownSending() { hasShutDownSending = true }
    func shutDownReceiving() {}

    func close(_ reason: CloseReason) {
        noteEffect()
        self.reason = reason
    }

    // MARK: The server and the program

    func keepPlace() -> Bool { true }
    func present() { isPresented = true }

    func reserveRoom(onceEmpty: Bool) -> (room: Int, waitingByteCount: Int) {
        waits += onceEmpty && waiting > 0 ? 1 : 0
        return (onceEmpty && waiting > 0 ? 0 : room, waiting)
    }

    func deliver(_ frame: consuming Frame, more: Bool) {
        noteEffect()
        frames.append(frame)
    }

    func deliver(_ frame: consuming Frame, in header: SharedFrameHeader, more: Bool) {
        noteEffect()
        sharedFrames.append((frame, header))
    }

    func deliver(_ message: AudioBlock) {
        noteEffect()
        audio.append(message)
    }

    func deliver(_ status: SenderStatus) { noteEffect() }
    func deliver(_ info: ControlRequest.SessionInfo) { noteEffect() }

    func endDelivery(_ reason: CloseReason) { noteEffect() }

    // MARK: Memory

    func askForMemory(byteCount: Int) -> Bool {
        noteEffect()
        requested.append(byteCount)
        return hasMemory
    }

    func withdrawRequestForMemory() {
        noteEffect()
        withdrawals += 1
    }

    func map(_ header: SharedFrameHeader.Buffer) throws(TransportError) -> Bool {
        noteEffect()
        mapped.append(header)
        return true
    }

    func dropDescriptor() {}
    func unmapBuffers() { noteEffect() }

    // MARK: Turns

    func yield() {
        noteEffect()
        yields += 1
    }

    private func noteEffect() {
        if reason != nil { callsAfterClose += 1 }
    }
}
