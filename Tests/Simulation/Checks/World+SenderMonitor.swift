internal import FrameWire

/// What goes over the connections of senders of this package, checked as it is written and read.
extension World {
    /// Begins to follow a connection.
    func monitor(_ socket: Int, sender: Int, tokenCount: Int) {
        let monitor = SenderMonitor(sender: sender, tokenCount: tokenCount)
        monitor.socket = socket
        monitor.changedAt = now
        sockets[socket].monitor = monitors.count
        monitors.append(monitor)
        check(.stopIsFinal, !senders[sender].hasReadStop, "sender \(sender) connects although it was told to stop")
    }

    // MARK: What the sender writes

    func monitorWrite(_ index: Int, _ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        if monitors[index].tokenRemaining > 0 {
            offset = min(bytes.count, monitors[index].tokenRemaining)
            let start = Tokens.bytes.count - monitors[index].tokenRemaining
            for position in 0..<offset {
                let isRight = unsafe bytes[position] == Tokens.bytes[start + position]
                check(.tokenComesFirst, isRight, "a sender wrote something else before its token")
            }
            monitors[index].tokenRemaining -= offset
        }
        guard offset < bytes.count else { return }
        check(
            .tokenComesFirst,
            monitors[index].serverTokenRemaining == 0,
            "a sender wrote before the handshake was done"
        )
        while offset < bytes.count, violation == nil {
            let rest = unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            let wasBetween = monitors[index].isBetweenMessages
            let step: FrameMessageDecoder.Step
            do {
                step = try monitors[index].decoder.decode(rest)
                coverage.checked(.messagesAreWhole)
            } catch {
                return violate(.messagesAreWhole, "sender \(monitors[index].sender) wrote what is no message: \(error)")
            }
            if wasBetween {
                monitors[index].beganAt = now
                // A frame and its announcement are one message to the sender.
                if monitors[index].announcedAt == nil { monitors[index].shared.isUnderWay = false }
                monitors[index].mayRepeat = monitors[index].hasReasonToRepeat
                // What was asked for after the frame was submitted may be answered by the next one.
                if senders[monitors[index].sender].submittedAt > monitors[index].reasonAt {
                    monitors[index].hasReasonToRepeat = false
                }
                check(.nothingAfterStopped, monitors[index].stoppedOnWire == nil, "a message follows `stopped`")
            }
            take(step, rest, index)
            offset += step.consumed
        }
    }

    private func take(_ step: FrameMessageDecoder.Step, _ bytes: Span<UInt8>, _ index: Int) {
        switch step.event {
        case .incomplete:
            break
        case .message(let message):
            headerWritten(message, index)
        case .body(let isLast):
            if monitors[index].takeBody(bytes.extracting(..<step.consumed)) { identityWritten(index) }
            if isLast { messageWritten(index) }
        }
    }

    private func headerWritten(_ message: FrameMessageDecoder.Message, _ index: Int) {
        switch message {
        case .frame(let header):
            frameHeaderWritten(header, index)
            jpegBegins(index)
        case .audio:
            monitors[index].keepReasonToRepeat()
            monitors[index].beginBody(.audio)
            senders[monitors[index].sender].audioBegun += 1
            check(.onlyFramesBeforeHello, monitors[index].hasReadHello, "audio without a hello")
            messageBegins(index, wants: .audio)
        case .status(let status):
            statusWritten(status, index)
        case .info(let info):
            infoWritten(info, index)
        case .sharedBuffer(let header):
            monitors[index].keepReasonToRepeat()
            messageBegins(index, wants: .frames)
            sharedBufferWritten(header, index)
            monitors[index].announcedAt = monitors[index].beganAt
        case .sharedFrame(let header):
            if let time = monitors[index].announcedAt.take() { monitors[index].beganAt = time }
            frameHeaderWritten(header.header, index)
            guard let identity = sharedFrameWritten(header, index) else { return }
            if identity.number == monitors[index].lastFrame { coverage.count(.sharedRepeat) }
            frameIdentified(identity, index)
            messageWritten(index)
            sharedFrameEnds(index)
        case .unknown:
            break
        }
    }

    private func frameHeaderWritten(_ header: FrameHeader, _ index: Int) {
        monitors[index].header = header
        checkInfoCame(header, monitors[index])
        monitors[index].beginBody(.frame)
        checkAudioIsOut(senders[monitors[index].sender], index)
        messageBegins(index, wants: .frames)
    }

    private func messageBegins(_ index: Int, wants kind: ControlRequest.Wants) {
        let monitor = monitors[index]
        check(
            .nothingWhilePaused,
            !monitor.isPausedOnWire,
            "sender \(monitor.sender) begins a message behind the status that answered a pause"
        )
        // Until a change is answered what was wanted before may still begin.
        let wants = monitor.wants.union(monitor.answeredWants)
        check(.onlyWhatIsWanted, wants.contains(kind), "sender \(monitor.sender) begins what is not wanted")
    }

    private func identityWritten(_ index: Int) {
        guard let identity = Content.header(monitors[index].identityBytes) else {
            return violate(.integrity, "sender \(monitors[index].sender) writes a body that was never submitted")
        }
        switch monitors[index].kind {
        case .audio:
            check(.audioInOrder, identity.number > monitors[index].lastAudio, "audio \(identity.number) out of order")
            monitors[index].lastAudio = identity.number
        case .frame, .none:
            frameIdentified(identity, index)
        }
    }

    private func frameIdentified(_ identity: Content.Identity, _ index: Int) {
        let (sender, last) = (monitors[index].sender, monitors[index].lastFrame)
        let quality = monitors[index].header.map { Self.quality(of: identity, $0) } ?? 0
        check(.order, identity.number >= last, "sender \(sender) writes frame \(identity.number) after \(last)")
        if identity.number == last {
            coverage.count(.latestFrameRepeated)
            let isAsked = monitors[index].mayRepeat || senders[sender].mayRepeat
            let isPreferred = monitors[index].newPreferences > 0
            // What was sent at less is made sharp also after the program has switched the adaptation off.
            let mayBeBlurred = senders[sender].plan.adaptation != nil || isAdapted(senders[sender])
            let isSharper = mayBeBlurred && quality > monitors[index].lastQuality
            if isSharper { coverage.count(.sharpened) }
            check(
                .repeatsHaveReasons,
                isAsked || isPreferred || isSharper,
                "sender \(sender) repeats frame \(last) unasked, at quality \(quality) after \(monitors[index].lastQuality)"
            )
            // One that is sharper may have been prepared before the preference, which is still to be followed.
            if !isAsked, !isSharper, isPreferred { monitors[index].newPreferences -= 1 }
        }
        (monitors[index].lastFrame, monitors[index].lastQuality) = (identity.number, quality)
        guard let header = monitors[index].header else { return }
        frameBegins(identity, header, of: sender)
        if violation == nil { checkPreference(header, identity.number, index) }
    }

    private func messageWritten(_ index: Int) {
        switch monitors[index].kind {
        case .frame:
            let number = monitors[index].lastFrame
            monitors[index].frames.append(number)
            // The number of a frame that was cut off may be taken back: no receiver has that frame.
            if let sequence = monitors[index].header?.sequence {
                let sender = senders[monitors[index].sender]
                sender.lastSequence = max(sender.lastSequence ?? 0, sequence)
            }
            if let askedAt = monitors[index].frameAskedAt, askedAt <= monitors[index].beganAt {
                let isAnswer = isAsNew(senders[monitors[index].sender], number, as: monitors[index].frameAskedFor)
                if isAnswer { monitors[index].frameAskedAt = nil } else { monitors[index].hasOlderFrameCome = true }
            }
            frameWritten(number, of: monitors[index].sender)
        case .audio, .none: break
        }
        monitors[index].kind = .none
    }

    private func statusWritten(_ status: SenderStatus, _ index: Int) {
        monitors[index].keepReasonToRepeat()
        let monitor = monitors[index]
        check(.onlyFramesBeforeHello, monitor.hasReadHello, "a status without a hello")
        monitors[index].statuses += 1
        if monitor.beganAt >= monitor.changedAt { monitors[index].answeredWants = monitor.wants }
        monitors[index].lastState = status.state
        monitors[index].lastRefusals = status.refusedPreferences
        let refusals = monitor.refusals
        check(.preferencesAreAnswered, status.refusedPreferences <= refusals, "more is refused than was preferred")
        if let pong = status.pong {
            check(.pongsAnswerPings, monitor.pingsRead.contains(pong), "a pong that answers no ping")
            monitors[index].lastPongWritten = pong
        }
        switch status.state {
        case .live: monitors[index].isPausedOnWire = false
        case .paused: monitors[index].isPausedOnWire = true
        case .stopped(let reason):
            monitors[index].stoppedOnWire = reason
            if let asked = monitor.stopRead {
                check(
                    .stopIsAnswered,
                    senders[monitor.sender].hasClosed || asked == reason,
                    "another reason than asked"
                )
            }
        }
        let limit = monitor.questions + Int(clamping: monitor.refusals) + (monitors[index].stoppedOnWire == nil ? 0 : 1)
        check(.oneAnswerEach, monitors[index].statuses <= limit, "\(monitors[index].statuses) statuses, asked \(limit)")
    }

    // MARK: What the sender reads

    func monitorRead(_ index: Int, _ bytes: UnsafeRawBufferPointer) {
        var offset = min(bytes.count, monitors[index].serverTokenRemaining)
        monitors[index].serverTokenRemaining -= offset
        while offset < bytes.count, monitors[index].understandsRequests {
            let rest = unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            guard let step = try? monitors[index].requests.decode(rest) else {
                monitors[index].understandsRequests = false
                return check(.requestsAreWhole, !hasOurReceiver(index), "a server of this package writes no request")
            }
            offset += step.consumed
            switch step.event {
            case .request(let request): requestRead(request, index)
            case .release(let release): releaseRead(release.buffer, index)
            case .skipped(let isPreference):
                guard isPreference, monitors[index].hasReadHello else { continue }
                coverage.count(.badPreference)
                monitors[index].refusals += 1
            case .discarded, .incomplete, .body: break
            }
        }
    }

    /// Whether a server of this package is at the other end.
    func hasOurReceiver(_ index: Int) -> Bool {
        let peer = sockets[monitors[index].socket].formerPeer
        return peer >= 0 && sockets[peer].isOurs
    }

    func noteRead(_ request: @autoclosure () -> String, _ index: Int) {
        note("sender \(monitors[index].sender) reads \(request())")
        monitors[index].reasonAt = now
    }

    /// Returns whether the request has an effect.
    func checkHelloCame(before request: @autoclosure () -> String, _ index: Int) -> Bool {
        let hasReadHello = monitors[index].hasReadHello
        check(.helloComesFirst, hasReadHello || !hasOurReceiver(index), "\(request()) comes before a hello")
        return hasReadHello && monitors[index].stopRead == nil
    }

    private func requestRead(_ request: ControlRequest, _ index: Int) {
        noteRead("\(request)", index)
        if case .hello(let hello) = request {
            if hello.wants.contains(.frames), !monitors[index].wants.contains(.frames) {
                askForFrame(index)
            }
            monitors[index].hasReadHello = true
            monitors[index].wantsInfo = hello.wantsInfo
            if !hello.wants.contains(.frames) { monitors[index].hasAskedForSilence = true }
            monitors[index].questions += 1
            helloRead(hello, index)
            // A sender that has closed sends what it had accepted, whatever is wanted by then.
            guard !senders[monitors[index].sender].hasClosed else { return }
            if monitors[index].wants != hello.wants { monitors[index].changedAt = now }
            monitors[index].wants = hello.wants
            return
        }
        guard checkHelloCame(before: "\(request)", index) else { return }
        switch request {
        case .hello: break
        case .pause:
            coverage.count(.pause)
            if !monitors[index].isPauseAsked { monitors[index].changedAt = now }
            monitors[index].isPauseAsked = true
            monitors[index].hasAskedForSilence = true
            monitors[index].questions += 1
        case .resume:
            if monitors[index].isPauseAsked {
                monitors[index].changedAt = now
                askForFrame(index)
            }
            monitors[index].isPauseAsked = false
            monitors[index].questions += 1
        case .stop(let reason):
            coverage.count(.stop)
            monitors[index].stopRead = reason
            senders[monitors[index].sender].hasReadStop = true
        case .prefer:
            coverage.count(.preference)
            monitors[index].newPreferences += 1
        case .refresh:
            coverage.count(.refresh)
            guard !monitors[index].isPauseAsked, monitors[index].wants.contains(.frames) else { return }
            askForFrame(index)
        case .ping(let number):
            coverage.count(.ping)
            monitors[index].questions += 1
            monitors[index].pingsRead.insert(number)
            monitors[index].lastPing = number
        case .decline: declineRead(index)
        case .info(let info): infoRead(info, index)
        }
    }
}
