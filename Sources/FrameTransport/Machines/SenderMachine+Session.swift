internal import FrameWire

// Input from the server, and the progress of messages.

extension SenderMachine {
    // MARK: Reading

    mutating func read(_ limit: Int, _ system: some System) {
        unsafe withUnsafeTemporaryAllocation(byteCount: limit, alignment: 16) { memory in
            do throws(Errno) {
                switch try unsafe system.read(into: memory) {
                case .bytes(0, _): reachedEndOfStream(system)
                case .bytes(let count, _):
                    let bytes = unsafe UnsafeRawBufferPointer(rebasing: memory[..<count])
                    unsafe didRead(Span<UInt8>(_unsafeBytes: bytes), system)
                case .wouldBlock: readWouldBlock(system)
                }
            } catch {
                readFailed(error, system)
            }
        }
    }

    private mutating func didRead(_ bytes: Span<UInt8>, _ system: some System) {
        switch state {
        case .handshaking(var handshake):
            handshake.token.take(bytes)
            advance(handshake, system)
        case .open:
            take(bytes, system)
        // While this side ends the connection, it reads only to detect the server's end.
        case .idle, .waiting, .connecting, .ending, .closed:
            break
        }
    }

    private mutating func readWouldBlock(_ system: some System) {
        isReadable = false
        guard case .open(.broken(let error, _)) = state else { return }
        // If the server has gone, its end is still to be read, and requests may precede it.
        if error == .brokenPipe || error == .reset { return }
        end(.failed(.lost(error)), system)
    }

    private mutating func reachedEndOfStream(_ system: some System) {
        isReadable = false
        let reason = CloseReason.closedByPeer(.stoppedByUser)
        switch state {
        case .handshaking: giveUpAttempt(after: .turnedAway, system)
        case .open(.broken): end(reason, system)
        // The server may still read: the message in progress is completed, and no new one is started.
        case .open: beginEnding(reason, awaiting: .ownBytes, next: configuration.reopens ? .reopen : .close, system)
        case .ending(let ending) where ending.awaiting == .peersEnd: conclude(ending, system)
        case .ending(var ending):
            ending.awaiting = .ownBytes
            state = .ending(ending)
            resumeLane(system)
        case .idle, .waiting, .connecting, .closed: break
        }
    }

    private mutating func readFailed(_ error: Errno, _ system: some System) {
        isReadable = false
        switch state {
        case .handshaking: giveUpAttempt(after: .system(error), system)
        case .open: end(.failed(.lost(error)), system)
        case .ending(let ending): conclude(ending, system)
        case .idle, .waiting, .connecting, .closed: break
        }
    }

    // MARK: The lane

    /// Handles a caller's own write that was incomplete, or failed.
    package mutating func laneChanged(to progress: SendLaneMachine.Progress, _ system: some System) {
        now = system.now
        defer { proceed(system) }
        laneProgressed(progress, system)
    }

    mutating func resumeLane(_ system: some System) {
        let progress = system.lane { lane in
            lane.hasRoom()
            return nil
        }
        laneProgressed(progress, system)
    }

    /// Handles the lane's progress after a change that is the last of its event, or begins an end.
    mutating func laneProgressed(_ progress: SendLaneMachine.Progress, _ system: some System) {
        guard case .ending(var ending) = state else { return note(progress) }
        switch (progress, ending.awaiting) {
        case (.waiting, _), (.sent, _), (.ended, .peersEnd): break
        case (.broken, _), (.ended, .ownBytes): conclude(ending, system)
        case (.ended, .ownBytesAndPeersEnd):
            ending.awaiting = .peersEnd
            state = .ending(ending)
            system.shutDownSending()
        }
    }

    /// Notes the progress of an open connection's lane, which no outcome ends: the machine may be in the middle of requests.
    ///
    /// A failed write is noted, and a server that has stopped reading is given up when the deadline passes.
    mutating func note(_ progress: SendLaneMachine.Progress) {
        guard case .open(let sending) = state else { return }
        switch (progress, sending) {
        case (_, .broken):
            break
        case (.sent, _), (.ended, _):
            state = .open(.flowing)
        case (.waiting(let bytes), .flowing):
            state = .open(.stalled(bytesWritten: bytes, until: configuration.sendTimeout.after(now)))
        case (.waiting(let bytes), .stalled(let before, let until)):
            guard until <= now, bytes != before else { return }
            state = .open(.stalled(bytesWritten: bytes, until: configuration.sendTimeout.after(now)))
        case (.broken(let error), _):
            // Everything that the server sent before is read first: it may have requested the end.
            state = .open(.broken(error, until: configuration.linger.after(now)))
            isReadable = true
        }
    }

    /// Ends a session whose server has read nothing since `bytesWritten`.
    mutating func checkProgress(since bytesWritten: Int, _ system: some System) {
        let progress = system.lane { _ in nil }
        guard case .waiting(bytesWritten) = progress else { return laneProgressed(progress, system) }
        end(.failed(TransportError(.sendTimedOut, path: name, "the server has stopped reading")), system)
    }

    // MARK: Requests

    /// Handles input from the server.
    ///
    /// After a hello, the server must send valid requests, or the connection fails. Without a hello, input is read and
    /// dropped, as existing Jitsi senders do.
    private mutating func take(_ bytes: Span<UInt8>, _ system: some System) {
        var offset = 0
        do throws(WireError) {
            // A stop ends the session.
            while case .open = state, offset < bytes.count,
                let step = try decoder?.decode(bytes.extracting(offset...))
            {
                offset += step.consumed
                switch step.event {
                case .incomplete: continue
                case .request(let request): handle(request, system)
                case .release(let buffer): released(buffer, system)
                case .discarded: system.noteDiscarded()
                case .skipped(let isPreference):
                    system.countSkippedRequest()
                    if isPreference, receiver.hello != nil { refusePreference(system) }
                }
                turn.requests -= 1
            }
        } catch {
            guard receiver.hello == nil else { return end(.failed(TransportError(error)), system) }
            system.countSkippedRequest()
            decoder = nil
        }
    }

    /// Obeys a request.
    private mutating func handle(_ request: ControlRequest, _ system: some System) {
        var receiver = receiver
        if case .hello(let hello) = request {
            receiver.hello = hello
            if hello.sharedMemory == nil { receiver.declinesSharedMemory = true }
            adopt(receiver, system)
        }
        guard receiver.hello != nil else { return system.countSkippedRequest() }
        switch request {
        case .hello: break
        case .pause, .resume:
            receiver.isPaused = request == .pause
            adopt(receiver, system)
        case .prefer(let preferences): changeTerms(system) { $0.preferences = preferences }
        case .refresh: changeTerms(system) { $0.refreshes += 1 }
        case .ping(let number): answer(pong: number, system)
        case .decline:
            receiver.declinesSharedMemory = true
            adopt(receiver, answers: false, system)
        case .info(let info): system.publish(info)
        case .stop: break
        }
        // The program hears of the request last, because it may act on it at once.
        system.deliver(request)
        guard case .stop(let reason) = request else { return }
        let last = SenderStatus(state: .stopped(reason))
        beginEnding(.closedByPeer(reason), last: last, awaiting: .ownBytesAndPeersEnd, next: .close, system)
    }

    /// Frees a shared buffer, without a word to the program: there is a release for every frame.
    private mutating func released(_ buffer: Int, _ system: some System) {
        guard receiver.hello != nil else { return system.countSkippedRequest() }
        changeTerms(system) { $0.releases[buffer] &+= 1 }
    }

    /// Tells the receiver that its preference is refused: nothing changes.
    private mutating func refusePreference(_ system: some System) {
        refusedPreferences &+= 1
        answer(system)
    }

    private mutating func answer(pong: UInt64? = nil, _ system: some System) {
        var status = status
        status.pong = pong
        note(
            system.lane { lane in
                lane.send(status)
                return nil
            }
        )
    }

    /// The sender's status.
    var status: SenderStatus {
        var status = SenderStatus(state: receiver.isPaused ? .paused : .live)
        status.refusedPreferences = refusedPreferences
        return status
    }
}
