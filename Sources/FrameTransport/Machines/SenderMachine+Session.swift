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
            state = .handshaking(handshake)
            concludeHandshake(handshake, system)
        case .open:
            take(bytes, system)
        // While this side ends the connection, it reads only to detect the server's end.
        case .idle, .waiting, .connecting, .ending, .closed:
            break
        }
    }

    private mutating func readWouldBlock(_ system: some System) {
        isReadable = false
        guard case .open(let session) = state, case .broken(let error, _) = session.sending else { return }
        // If the server has gone, its end is still to be read, and requests may precede it.
        if error == .brokenPipe || error == .reset { return }
        end(.failed(.lost(error)), system)
    }

    private mutating func reachedEndOfStream(_ system: some System) {
        isReadable = false
        switch state {
        case .handshaking:
            giveUpAttempt(after: .turnedAway, system)
        case .open(let session):
            let reason = CloseReason.closedByPeer(.stoppedByUser)
            if case .broken = session.sending { return end(reason, system) }
            // The server may still read: the message in progress is completed, and no new one is started.
            let next: Afterwards = settings.reopens ? .reopen : .close
            beginEnding(reason, last: nil, awaiting: .ownBytes, next: next, system)
        case .ending(var ending):
            if ending.awaiting == .peersEnd { return conclude(ending, system) }
            ending.awaiting = .ownBytes
            state = .ending(ending)
            resumeLane(system)
        case .idle, .waiting, .connecting, .closed:
            break
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

    /// Handles the lane's progress after a change that is the last of its event, or begins an end.
    mutating func laneProgressed(_ progress: SendLaneMachine.Progress, _ system: some System) {
        switch state {
        case .open(var session):
            note(progress, in: &session)
            state = .open(session)
        case .ending(var ending):
            switch progress {
            case .waiting, .sent: break
            case .broken: conclude(ending, system)
            case .ended:
                switch ending.awaiting {
                case .ownBytes: conclude(ending, system)
                case .ownBytesAndPeersEnd:
                    ending.awaiting = .peersEnd
                    state = .ending(ending)
                    system.shutDownSending()
                case .peersEnd: break
                }
            }
        case .idle, .waiting, .connecting, .handshaking, .closed:
            break
        }
    }

    /// Changes the lane of an open session.
    ///
    /// No outcome ends the session, which may be in the middle of the requests that it reads: a failed write is noted,
    /// and a server that has stopped reading is given up when the deadline passes.
    private mutating func changeLane(
        in session: inout Session,
        _ system: some System,
        _ change: (inout SendLaneMachine) -> SendLaneMachine.Settlement?
    ) {
        note(system.lane(change), in: &session)
    }

    mutating func resumeLane(_ system: some System) {
        let progress = system.lane { lane in
            lane.hasRoom()
            return nil
        }
        laneProgressed(progress, system)
    }

    private mutating func note(_ progress: SendLaneMachine.Progress, in session: inout Session) {
        switch (progress, session.sending) {
        case (_, .broken):
            break
        case (.sent, _), (.ended, _):
            session.sending = .flowing
        case (.waiting(let bytes), .flowing):
            session.sending = .stalled(bytesWritten: bytes, until: now &+ settings.sendTimeout)
        case (.waiting(let bytes), .stalled(let before, let until)):
            guard until <= now, bytes != before else { return }
            session.sending = .stalled(bytesWritten: bytes, until: now &+ settings.sendTimeout)
        case (.broken(let error), _):
            // Everything that the server sent before is read first: it may have requested the end.
            session.sending = .broken(error, until: now &+ settings.linger)
            isReadable = true
        }
    }

    /// Ends a session whose server has read nothing since `bytesWritten`.
    mutating func checkProgress(since bytesWritten: Int, _ system: some System) {
        let progress = system.lane { _ in nil }
        guard case .waiting(bytesWritten) = progress else { return laneProgressed(progress, system) }
        let error = TransportError(.sendTimedOut, path: settings.name, "the server has stopped reading")
        end(.failed(error), system)
    }

    // MARK: Requests

    /// Handles input from the server.
    ///
    /// After a hello, the server must send valid requests, or the connection fails. Without a hello, input is read and
    /// dropped, as existing Jitsi senders do.
    private mutating func take(_ bytes: Span<UInt8>, _ system: some System) {
        guard case .open(var session) = state else { return }
        // The decoder is moved out to avoid a copy at its first change.
        state = .open(Session())
        var offset = 0
        do throws(WireError) {
            while offset < bytes.count, let step = try session.decoder?.decode(bytes.extracting(offset...)) {
                offset += step.consumed
                switch step.event {
                case .request(let request):
                    turn.requestsLeft -= 1
                    if let reason = handle(request, in: &session, system) { return stop(session, reason, system) }
                case .release(let release):
                    turn.requestsLeft -= 1
                    handle(release, in: session, system)
                case .discarded:
                    turn.requestsLeft -= 1
                    system.noteDiscarded()
                case .skipped(let isPreference):
                    turn.requestsLeft -= 1
                    system.countSkippedRequest()
                    if isPreference, session.hello != nil { refusePreference(in: &session, system) }
                case .incomplete, .body:
                    break
                }
            }
            state = .open(session)
        } catch {
            guard session.hello == nil else {
                state = .open(session)
                return end(.failed(TransportError(error)), system)
            }
            system.countSkippedRequest()
            session.decoder = nil
            state = .open(session)
        }
    }

    /// Obeys a request, and returns the reason for the end if the receiver requests it.
    private mutating func handle(
        _ request: ControlRequest,
        in session: inout Session,
        _ system: some System
    ) -> ControlRequest.FinishReason? {
        if session.hello == nil {
            guard case .hello = request else {
                system.countSkippedRequest()
                return nil
            }
        }
        // The program hears of the request last, because it may act on it at once.
        switch request {
        case .hello(let hello): greet(hello, in: &session, system)
        case .pause: setPaused(true, in: &session, system)
        case .resume: setPaused(false, in: &session, system)
        case .prefer(let preferences): changeTerms(system) { $0.preferences = preferences }
        case .refresh: changeTerms(system) { $0.refreshes += 1 }
        case .ping(let number):
            var status = status(of: session, isPaused: terms.isPaused)
            status.pong = number
            answer(status, in: &session, system)
        case .decline:
            declineSharedMemory(in: &session, system)
            changeTerms(system) { $0.acceptsSharedMemory = false }
        case .info(let info): system.publish(info)
        case .stop(let reason):
            system.deliver(request)
            return reason
        }
        system.deliver(request)
        return nil
    }

    /// Frees a shared buffer, without a word to the program: there is a release for every frame.
    private mutating func handle(_ release: ReleaseRequest, in session: borrowing Session, _ system: some System) {
        guard session.hello != nil else { return system.countSkippedRequest() }
        changeTerms(system) { $0.releases[release.buffer] &+= 1 }
    }

    /// Answers a hello, and adopts what it asks for.
    private mutating func greet(_ hello: ControlRequest.Hello, in session: inout Session, _ system: some System) {
        session.hello = hello
        system.note(hello)
        let answer = status(of: session, isPaused: terms.isPaused)
        changeLane(in: &session, system) { $0.setWants(hello.wants, info: hello.wantsInfo, answering: answer) }
        if hello.sharedMemory == nil { declineSharedMemory(in: &session, system) }
        let sharesMemory = settings.sharesMemory && !session.declinesSharedMemory
        changeTerms(system) { terms in
            terms.wants = hello.wants
            terms.isGreeted = true
            terms.acceptsSharedMemory = sharesMemory
        }
    }

    private mutating func setPaused(_ isPaused: Bool, in session: inout Session, _ system: some System) {
        let answer = status(of: session, isPaused: isPaused)
        changeLane(in: &session, system) { $0.setPaused(isPaused, answering: answer) }
        changeTerms(system) { $0.isPaused = isPaused }
    }

    /// Sends nothing more in shared memory on this connection.
    private mutating func declineSharedMemory(in session: inout Session, _ system: some System) {
        session.declinesSharedMemory = true
        if terms.acceptsSharedMemory { changeLane(in: &session, system) { $0.declineShared() } }
    }

    private mutating func answer(_ status: SenderStatus, in session: inout Session, _ system: some System) {
        changeLane(in: &session, system) { lane in
            lane.send(status)
            return nil
        }
    }

    /// Returns the sender's status.
    private func status(of session: borrowing Session, isPaused: Bool) -> SenderStatus {
        var status = SenderStatus(state: isPaused ? .paused : .live)
        status.refusedPreferences = session.refusedPreferences
        return status
    }

    /// Tells the receiver that its preference is refused: nothing changes.
    private mutating func refusePreference(in session: inout Session, _ system: some System) {
        session.refusedPreferences &+= 1
        answer(status(of: session, isPaused: terms.isPaused), in: &session, system)
    }

    /// Obeys a stop, which is permanent.
    private mutating func stop(_ session: Session, _ reason: ControlRequest.FinishReason, _ system: some System) {
        state = .open(session)
        let last = SenderStatus(state: .stopped(reason))
        beginEnding(.closedByPeer(reason), last: last, awaiting: .ownBytesAndPeersEnd, next: .close, system)
    }
}
