internal import FrameTransport
internal import FrameWire

/// What a receiver's machine calls: the simulated socket, budget and program.
extension SimReceiver: ReceiverMachine.System {
    var now: UInt64 { world.now }

    /// Notes a call of the machine, carries it out, and by chance lets a consumer be faster than what follows.
    private func perform<Result, Failure: Error>(
        _ call: @autoclosure () -> String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        world.note("  receiver \(index): \(call())")
        world.check(.toldOnce, closeReason == nil, "a connection that has closed goes on")
        calls += 1
        world.check(.progress, calls < 20_000, "a receiver's machine never stops")
        defer { world.overtake(self) }
        return try body()
    }

    // MARK: The socket

    func read(into first: MemoryRun, _ second: MemoryRun) throws(Errno) -> Transfer {
        let transfer = try unsafe receive("read", into: first, second)
        if case .bytes(1..., _) = transfer { heardAt = now }
        return transfer
    }

    func readToken(into run: MemoryRun) throws(Errno) -> Transfer {
        try unsafe receive("read token", into: run, MemoryRun(start: nil, count: 0))
    }

    func discard() throws(Errno) -> Transfer {
        try unsafe receive("discard", into: world.scratch(16 << 10), MemoryRun(start: nil, count: 0))
    }

    private func receive(_ call: String, into first: MemoryRun, _ second: MemoryRun) throws(Errno) -> Transfer {
        try perform(call) { () throws(Errno) in
            // A machine that has broken a promise must not go on forever.
            guard world.violation == nil else { throw .reset }
            return try unsafe world.receive(socket, into: first, second)
        }
    }

    func takeArrivals() -> (count: Int, areLost: Bool)? { world.takeArrivals(self) }

    func write(_ requests: [UInt8]) throws(Errno) -> Transfer {
        if let own = world.servers[server].tokens?.own, requests == own { return try writeToken(own) }
        return try perform("write requests") { () throws(Errno) in
            world.check(.requestsAreBounded, requests.count <= 16 << 10, "\(requests.count) bytes of requests wait")
            // Values end with a line feed alone, and contain no carriage return.
            let endsWithValue = requests.count > 1 && requests.last == 10 && requests[requests.count - 2] != 13
            let endsWithRequest =
                endsWithValue || requests.suffix(4).elementsEqual([13, 10, 13, 10].suffix(requests.count))
            world.check(.requestsAreWhole, endsWithRequest, "the requests of connection \(index) end within one")
            let transfer = try world.send(socket, requests[...])
            // The beginning of a stop may have been written before.
            if case .bytes(requests.count, _) = transfer, let stop = owedStop?.request,
                requests.suffix(stop.count).elementsEqual(stop.suffix(requests.count))
            {
                owedStop = nil
            }
            return transfer
        }
    }

    private func writeToken(_ own: [UInt8]) throws(Errno) -> Transfer {
        try perform("write token") { () throws(Errno) in
            world.coverage.count(.handshake)
            return try world.send(socket, own[...])
        }
    }

    func shutDownSending() {
        perform("shut down sending") {
            world.checkStopIsWritten(self)
            world.shutdownSending(socket)
        }
    }

    func shutDownReceiving() {
        perform("shut down receiving") {
            world.coverage.count(.drainCutOff)
            let limit = (drainedAt ?? now) + 1_000_000_000
            world.check(.drainLasts, now >= limit, "connection \(index) is cut off before its time")
            world.shutdownReceiving(socket)
        }
    }

    func close(_ reason: CloseReason) {
        perform("close \(reason)") {
            world.checkStopIsWritten(self)
            world.finish(self, reason)
        }
    }

    func yield() {
        perform("yield") {
            world.coverage.count(.turnYielded)
            world.executeAfterPoll(for: self) { [self] in world.change(self) { $0.resume(self) } }
        }
    }

    /// For some of them, so that histories have long turns beside short ones.
    var isCrowded: Bool { index.isMultiple(of: 3) }

    // MARK: The server and the program

    func keepPlace() -> Bool {
        perform("keep place") {
            if place == .revocable { place = .kept } else { world.coverage.count(.placeWasRevoked) }
            return place == .kept
        }
    }

    func present() { perform("present") { world.present(self) } }

    var hasUntakenFrames: Bool { perform("has untaken frames") { frames.mailbox.hasUntaken } }

    func reserveRoom(onceEmpty: Bool) -> (room: Int, waitingByteCount: Int) {
        perform("reserve room") {
            let (room, waiting) = frames.mailbox.reserve(onceEmpty: onceEmpty)
            return (room, waiting)
        }
    }

    func deliver(_ frame: consuming Frame, more: Bool) {
        let frame = frame
        perform("deliver frame \(frame.index)") {
            world.deliver(SimFrame(frame: frame), weight: frame.jpeg?.count ?? 0, more: more, to: self)
        }
    }

    func deliver(_ frame: consuming Frame, in header: SharedFrameHeader, more: Bool) {
        let frame = frame
        perform("deliver frame \(frame.index) in buffer \(header.buffer)") {
            world.deliver(frame, header, more, to: self)
        }
    }

    func deliver(_ message: AudioBlock) { perform("deliver audio") { world.deliver(message, to: self) } }
    func deliver(_ status: SenderStatus) { perform("deliver \(status)") { world.deliver(status, to: self) } }
    func deliver(_ info: ControlRequest.SessionInfo) { perform("deliver \(info)") { world.deliver(info, to: self) } }

    func endDelivery(_ reason: CloseReason) {
        perform("end delivery") {
            world.coverage.count(.lingered)
            lingersSince = now
            hadUntaken = frames.mailbox.count > 0 || hasDiscarded
            world.awaitEnd(of: self, after: 1_300_000_000) { [world] hasEnded, what in
                world.check(.lingerIsBounded, hasEnded, what)
            }
            world.endDelivery(self, nil)
        }
    }

    // MARK: Memory

    func askForMemory(byteCount: Int) -> Bool {
        perform("ask for \(byteCount) bytes") { world.ask(self, for: byteCount) }
    }

    func withdrawRequestForMemory() { perform("withdraw request") { world.withdrawRequest(of: self) } }

    func map(_ header: SharedFrameHeader.Buffer) throws(TransportError) -> Bool {
        perform("map buffer \(header.index)") { world.map(header, of: self) }
    }

    func dropDescriptor() { perform("drop descriptor") { _ = world.takeDescriptor(self) } }

    func unmapBuffers() {
        perform("unmap buffers") {
            world.check(.declinesOnce, !shared.hasDeclined, "connection \(index) declines twice")
            world.coverage.count(.declined)
            shared.hasDeclined = true
            world.unmapAll(self)
        }
    }
}
