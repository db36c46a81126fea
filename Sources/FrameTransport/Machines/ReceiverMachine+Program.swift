package import FrameWire

/// Events from the program and its consumer.
extension ReceiverMachine {
    /// Starts the connection.
    package mutating func start(_ system: some System) {
        now = system.now
        if case .handshaking = state {
            deadline = configuration.limits.handshakeTimeout.after(now)
        } else {
            becomeReady(system)
        }
        proceed(system)
    }

    /// Sends a request to the sender, which need not understand it; a request that cannot be queued is dropped.
    ///
    /// A sender obeys requests only after a hello, so the first one is preceded by it.
    ///
    /// - Returns: Whether the request was queued.
    @discardableResult
    package mutating func send(_ request: ControlRequest, _ system: some System) -> Bool {
        // The time that the sender has for its next message may begin with this request.
        now = system.now
        let isQueued = self.request(request, system)
        proceed(system)
        return isQueued
    }

    @discardableResult
    mutating func request(_ request: ControlRequest, _ system: some System) -> Bool {
        guard isReady else { return false }
        // A request that was dropped has no consequences here either: the sender does not know of it.
        let isQueued = queue(request)
        if isQueued { apply(request, system) }
        if case .decline = request { declineSharedMemory(system) }
        writeRequests(system)
        return isQueued
    }

    /// - Returns: Whether the request was queued.
    private mutating func queue(_ request: ControlRequest) -> Bool {
        switch request {
        case .hello(let hello): return greet(with: hello)
        // The connection knows itself whether there is still something to decline.
        case .decline: return false
        // It is stated once.
        case .info where hasStatedInfo: return false
        case .pause, .resume, .stop, .prefer, .refresh, .ping, .info:
            return (hasSaidHello || greet(with: ControlRequest.Hello())) && outbox.add(request)
        }
    }

    private mutating func greet(with hello: ControlRequest.Hello) -> Bool {
        var hello = hello
        hello.sharedMemory = shared.terms == .accepted ? ControlRequest.Hello.sharedMemoryVersion : nil
        hello.wantsInfo = true
        let isQueued = outbox.add(.hello(hello))
        hasSaidHello = hasSaidHello || isQueued
        return isQueued
    }

    private mutating func apply(_ request: ControlRequest, _ system: some System) {
        switch request {
        case .hello(let hello): adopt(hello, system)
        case .pause: hasPaused = true
        case .resume: hasPaused = false
        case .info: hasStatedInfo = true
        case .decline, .stop, .prefer, .refresh, .ping: break
        }
    }

    /// Ends the connection cleanly: shuts down sending, and discards input until the peer has closed too.
    ///
    /// - Parameters:
    ///   - reason: The reason; with nil the peer is told nothing, and may reconnect.
    ///   - system: The machine's system.
    package mutating func close(_ reason: ControlRequest.FinishReason?, _ system: some System) {
        now = system.now
        switch state {
        case .lingering, .closed: return
        case .handshaking, .receiving, .draining: break
        }
        let isTold = tellDiscarded(system)
        if let reason, isReady {
            if !hasSaidHello { _ = greet(with: ControlRequest.Hello()) }
            outbox.addLast(.stop(reason))
            writeRequests(system)
            owesNotice = !outbox.bytes.isEmpty
        }
        withdrawRequest(system)
        linger(.closedLocally(reason ?? .stoppedByUser), leavesUnread: !isTold, system)
        proceed(system)
    }

    /// Tells the sender if something that was read is not taken; returns false if there is nothing of that kind, or the
    /// sender does not read requests.
    @discardableResult
    private mutating func tellDiscarded(_ system: some System) -> Bool {
        guard isReady, senderReadsRequests, system.hasUntakenFrames || assembler.isWithinMessage else { return false }
        outbox.addDiscardNotice()
        writeRequests(system)
        owesNotice = !outbox.bytes.isEmpty
        return true
    }

    /// Ends a connection whose sender has sent no token or a wrong one, if that is still the case, because its place is
    /// needed.
    package mutating func giveWay(_ system: some System) {
        switch state {
        case .handshaking: losePlace(system)
        case .lingering(let reason) where reason.error?.code == .tokenRejected:
            finish(reason, system)
        case .receiving, .draining, .lingering, .closed:
            break
        }
    }

    mutating func losePlace(_ system: some System) {
        let message = "the sender had not sent its token when its place was needed"
        finish(.failed(TransportError(.handshakeTimedOut, message)), system)
    }

    /// Ends the connection cleanly, once everything that has arrived, or arrives until the sender stops, is delivered.
    package mutating func drain(_ system: some System) {
        now = system.now
        switch state {
        case .handshaking:
            return close(nil, system)
        case .receiving:
            // A sender that has stated why it stops has itself ended the connection.
            state = .draining(stopReason.map { .closedByPeer($0) } ?? .closedLocally(.stoppedByUser))
            if !isTaken { askAgain() }
            system.shutDownSending()
            deadline = configuration.limits.linger.after(now)
        case .draining, .lingering, .closed:
            break
        }
        proceed(system)
    }

    /// Ends the connection of a sender that sent too many consecutive undecodable frames.
    package mutating func undecodableLimitReached(_ system: some System) {
        tellDiscarded(system)
        if isReady { finish(.failed(.undecodable(configuration.limits.maximumUndecodableFrames)), system) }
    }

    /// Handles that the program has taken the connection: from now on, large bodies ask for memory.
    package mutating func taken(_ system: some System) {
        isTaken = true
        guard case .receiving = state, awaitsMemory else { return }
        askAgain()
        goOn(system)
    }

    /// Has a body that waited for the program ask for memory, once the consumer has room.
    private mutating func askAgain() {
        guard awaitsMemory else { return }
        (awaitsMemory, room) = (false, nil)
    }

    /// Continues after the consumer has made room.
    package mutating func roomAvailable(_ system: some System) {
        guard room == 0 else { return }
        room = nil
        goOn(system)
    }

    /// Continues after memory has become available for the body that waits, if it still does.
    package mutating func memoryAvailable(_ system: some System) {
        guard awaitsMemory else { return }
        awaitsMemory = false
        goOn(system)
    }

    private mutating func goOn(_ system: some System) {
        now = system.now
        turn = Turn(isCrowded: system.isCrowded)
        proceed(system)
    }

    /// Continues after other connections have had their turns.
    package mutating func resume(_ system: some System) {
        hasYielded = false
        goOn(system)
    }
}

/// A receiver's requests to a sender that may not read them: what the socket does not accept waits, up to a limit.
package struct RequestOutbox: Sendable {
    /// The maximum number of waiting bytes: room for the longest `info`, and other requests.
    ///
    /// A peer that has left this many unread does not listen.
    package static let maximumByteCount = 16 << 10

    /// The waiting bytes.
    package private(set) var bytes: [UInt8] = []

    /// Whether any byte was written: a peer that closes without reading it resets the connection.
    package private(set) var hasWritten = false

    package init() {}

    /// Queues a request, unless too many bytes wait; a request is never cut.
    ///
    /// - Returns: Whether it was queued.
    @discardableResult
    package mutating func add(_ request: ControlRequest) -> Bool { add(request.encoded()) }

    /// Queues the release of a buffer in the same way.
    mutating func addRelease(of buffer: Int) -> Bool { add(Self.releases[buffer]) }

    /// The release of each buffer: one is queued for every frame in shared memory.
    private static let releases = SharedFrameHeader.Buffer.indices.map { ControlRequest.encodedRelease(of: $0) }

    /// Queues what tells a sender that this side ends, and has not taken everything that it has read.
    ///
    /// Senders that do not know this request skip it. There is always room for it, once.
    package mutating func addDiscardNotice() { bytes += Self.discardNotice }

    /// Queues the stop with which this side ends, for which there is always room, too: a sender that has not read it connects again.
    mutating func addLast(_ stop: ControlRequest) { bytes += stop.encoded() }

    private static let discardNotice = Array("POST /discarded HTTP/1.1\r\nContent-Length: 0\r\n\r\n".utf8)

    /// What leaves room for both; a stop has the same length for every reason.
    private static let limit = maximumByteCount - discardNotice.count - ControlRequest.stop(.error).encoded().count

    private mutating func add(_ encoded: [UInt8]) -> Bool {
        guard bytes.count + encoded.count <= Self.limit else { return false }
        bytes += encoded
        return true
    }

    /// Records that the socket accepted `count` bytes.
    package mutating func didWrite(_ count: Int) {
        hasWritten = hasWritten || count > 0
        // What is written as a whole, as nearly always, leaves its memory to the next request.
        guard count < bytes.count else { return bytes.removeAll(keepingCapacity: true) }
        bytes.removeFirst(max(0, count))
    }
}
