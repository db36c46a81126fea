internal import FrameWire

// Input from the server, and the progress of messages.

extension SenderMachine {
    // MARK: Reports

    /// Handles bytes that were read.
    package mutating func didRead(_ bytes: Span<UInt8>, at now: UInt64) {
        switch state {
        case .handshaking(var handshake):
            handshake.token.take(bytes)
            state = .handshaking(handshake)
            concludeHandshake(handshake, at: now)
        case .open:
            take(bytes, at: now)
        // While this side ends the connection, it reads only to detect the server's end.
        case .idle, .waiting, .connecting, .ending, .closed:
            break
        }
    }

    /// Handles a read that found nothing.
    package mutating func readWouldBlock(at now: UInt64) {
        isReadable = false
        guard case .open(let session) = state, case .broken(let error, _) = session.sending else { return }
        // If the server has gone, its end is still to be read, and requests may precede it.
        if error == .brokenPipe || error == .reset { return }
        end(.failed(.lost(error)), at: now)
    }

    /// Handles the end of the server's stream.
    package mutating func reachedEndOfStream(at now: UInt64) {
        isReadable = false
        switch state {
        case .handshaking:
            giveUpAttempt(after: .turnedAway, at: now)
        case .open(let session):
            let reason = CloseReason.closedByPeer(.stoppedByUser)
            if case .broken = session.sending { return end(reason, at: now) }
            // The server may still read: the message in progress is completed, and no new one is started.
            beginEnding(reason, last: nil, awaiting: .ownBytes, next: settings.reopens ? .reopen : .close, at: now)
        case .ending(var ending):
            if ending.awaiting == .peersEnd { return conclude(ending, at: now) }
            ending.awaiting = .ownBytes
            state = .ending(ending)
            commands.append(.lane(.resume))
        case .idle, .waiting, .connecting, .closed:
            break
        }
    }

    /// Handles a failed read.
    package mutating func readFailed(_ error: Errno, at now: UInt64) {
        isReadable = false
        switch state {
        case .handshaking: giveUpAttempt(after: .system(error), at: now)
        case .open: end(.failed(.lost(error)), at: now)
        case .ending(let ending): conclude(ending, at: now)
        case .idle, .waiting, .connecting, .closed: break
        }
    }

    /// Handles the lane's progress; reported after every order that says so, and if a caller's own write was
    /// incomplete.
    package mutating func laneProgressed(_ progress: SendLaneMachine.Progress, at now: UInt64) {
        switch state {
        case .open(var session):
            update(&session, progress, at: now)
        case .ending(var ending):
            switch progress {
            // An answer that was ordered before the end may be written before the lane knows of the end.
            case .waiting, .sent: break
            case .broken: conclude(ending, at: now)
            case .ended:
                switch ending.awaiting {
                case .ownBytes: conclude(ending, at: now)
                case .ownBytesAndPeersEnd:
                    ending.awaiting = .peersEnd
                    state = .ending(ending)
                    commands.append(.shutdownSending)
                case .peersEnd: break
                }
            }
        case .idle, .waiting, .connecting, .handshaking, .closed:
            break
        }
    }

    private mutating func update(_ session: inout Session, _ progress: SendLaneMachine.Progress, at now: UInt64) {
        switch (progress, session.sending) {
        case (_, .broken):
            return
        case (.sent, _), (.ended, _):
            session.sending = .flowing
        case (.waiting(let bytes), .flowing):
            session.sending = .stalled(bytesWritten: bytes, until: now &+ settings.sendTimeout)
        case (.waiting(let bytes), .stalled(let before, let until)):
            guard until <= now else { return }
            guard bytes != before else {
                let error = TransportError(.sendTimedOut, path: settings.name, "the server has stopped reading")
                return end(.failed(error), at: now)
            }
            session.sending = .stalled(bytesWritten: bytes, until: now &+ settings.sendTimeout)
        case (.broken(let error), _):
            // Everything that the server sent before is read first: it may have requested the end.
            session.sending = .broken(error, until: now &+ settings.linger)
            isReadable = true
        }
        state = .open(session)
    }

    // MARK: Requests

    /// Handles input from the server.
    ///
    /// After a hello, the server must send valid requests, or the connection fails. Without a hello, input is read and
    /// dropped, as existing Jitsi senders do.
    private mutating func take(_ bytes: Span<UInt8>, at now: UInt64) {
        guard case .open(var session) = state else { return }
        // The decoder is moved out to avoid a copy at its first change.
        state = .open(Session())
        var offset = 0
        do throws(WireError) {
            while offset < bytes.count, let step = try session.decoder?.decode(bytes.extracting(offset...)) {
                offset += step.consumed
                switch step.event {
                case .request(.hello(let hello)) where hello.version < settings.minimumVersion:
                    session.hello = hello
                    commands.append(.tell(.hello(hello)))
                    state = .open(session)
                    return refuseVersion(hello.version, at: now)
                case .request(let request):
                    turn.requestsLeft -= 1
                    if let reason = handle(request, in: &session) { return stop(session, reason, at: now) }
                case .release(let release):
                    turn.requestsLeft -= 1
                    handle(release, in: session)
                case .skipped(let request):
                    turn.requestsLeft -= 1
                    commands.append(.tell(.skippedRequest))
                    if request.isPreference, session.hello != nil { refusePreference(in: &session) }
                case .incomplete, .body:
                    break
                }
            }
            state = .open(session)
        } catch {
            guard session.hello == nil else {
                state = .open(session)
                return end(.failed(TransportError(error)), at: now)
            }
            commands.append(.tell(.skippedRequest))
            session.decoder = nil
            state = .open(session)
        }
    }

    /// Obeys a request, and returns the reason for the end if the receiver requests it.
    private mutating func handle(_ request: ControlRequest, in session: inout Session) -> ControlRequest.FinishReason? {
        if session.hello == nil {
            guard case .hello = request else {
                commands.append(.tell(.skippedRequest))
                return nil
            }
        }
        // The program hears of the request last, because it may act on it at once.
        switch request {
        case .hello(let hello): greet(hello, in: &session)
        case .pause: setPaused(true, in: session)
        case .resume: setPaused(false, in: session)
        case .prefer(let preferences): changeTerms { $0.preferences = preferences }
        case .refresh: changeTerms { $0.refreshes += 1 }
        case .ping(let number):
            var status = status(of: session, isPaused: terms.isPaused)
            status.pong = number
            commands.append(.lane(.answer(status)))
        case .decline:
            declineSharedMemory(in: &session)
            changeTerms { $0.acceptsSharedMemory = false }
        case .info(let info): commands.append(.tell(.info(info)))
        case .stop(let reason):
            commands.append(.tell(.request(request)))
            return reason
        }
        commands.append(.tell(.request(request)))
        return nil
    }

    /// Frees a shared buffer, without a word to the program: there is a release for every frame.
    private mutating func handle(_ release: ReleaseRequest, in session: borrowing Session) {
        guard session.hello != nil else { return commands.append(.tell(.skippedRequest)) }
        changeTerms { $0.releases[release.buffer] &+= 1 }
    }

    /// Answers a hello, and adopts what it asks for.
    private mutating func greet(_ hello: ControlRequest.Hello, in session: inout Session) {
        session.hello = hello
        session.greetingUntil = nil
        commands.append(.tell(.hello(hello)))
        let answer = status(of: session, isPaused: terms.isPaused)
        commands.append(.lane(.setWants(hello.wants, info: hello.wantsInfo, answer: answer)))
        if hello.sharedMemory == nil { declineSharedMemory(in: &session) }
        let sharesMemory = settings.sharesMemory && !session.declinesSharedMemory
        changeTerms { terms in
            terms.wants = hello.wants
            terms.isGreeted = true
            terms.acceptsSharedMemory = sharesMemory
        }
    }

    private mutating func setPaused(_ isPaused: Bool, in session: borrowing Session) {
        commands.append(.lane(.setPaused(isPaused, answer: status(of: session, isPaused: isPaused))))
        changeTerms { $0.isPaused = isPaused }
    }

    /// Sends nothing more in shared memory on this connection.
    private mutating func declineSharedMemory(in session: inout Session) {
        session.declinesSharedMemory = true
        if terms.acceptsSharedMemory { commands.append(.lane(.declineShared)) }
    }

    /// Returns the sender's status.
    private func status(of session: borrowing Session, isPaused: Bool) -> SenderStatus {
        var status = SenderStatus(state: isPaused ? .paused : .live)
        status.refusedPreferences = session.refusedPreferences
        return status
    }

    /// Tells the receiver of a connection that the source of the frames cannot follow its preference.
    package mutating func preferencesRefused(byUserOf connection: Int, at now: UInt64) {
        guard case .open(var session) = state, terms.connection == connection, session.hello != nil else { return }
        refusePreference(in: &session)
        state = .open(session)
    }

    /// Tells the receiver that its preference is refused: nothing changes.
    private mutating func refusePreference(in session: inout Session) {
        session.refusedPreferences &+= 1
        commands.append(.lane(.answer(status(of: session, isPaused: terms.isPaused))))
    }

    /// Ends the session, which is permanent, because the receiver's version is too low, or because it has stated none.
    mutating func refuseVersion(_ version: Int?, at now: UInt64) {
        let error = TransportError.version(version, of: "receiver", under: settings.minimumVersion, path: settings.name)
        // Whoever does not read requests is not told.
        let last = version == nil ? nil : SenderStatus(state: .stopped(.versionMismatch))
        beginEnding(.failed(error), last: last, awaiting: .ownBytesAndPeersEnd, next: .close, at: now)
    }

    /// Obeys a stop, which is permanent.
    private mutating func stop(_ session: Session, _ reason: ControlRequest.FinishReason, at now: UInt64) {
        state = .open(session)
        let last = SenderStatus(state: .stopped(reason))
        beginEnding(.closedByPeer(reason), last: last, awaiting: .ownBytesAndPeersEnd, next: .close, at: now)
    }
}
