internal import FrameWire

/// What goes over the connections of senders of this package, checked as it is written and read.
extension World {
    /// Begins to follow a connection.
    func monitor(_ sender: SimSender) {
        let monitor = SenderMonitor(sender, at: now)
        sockets[sender.socket].monitor = monitor
        monitors.append(monitor)
        let isAllowed = !sender.hasReadStop
        check(.stopIsFinal, isAllowed, "sender \(sender.index) connects although it was told to stop")
    }

    // MARK: What the sender writes

    func monitorWrite(_ monitor: SenderMonitor, _ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        if monitor.tokenRemaining > 0 {
            offset = min(bytes.count, monitor.tokenRemaining)
            let start = Tokens.bytes.count - monitor.tokenRemaining
            for position in 0..<offset {
                let isRight = unsafe bytes[position] == Tokens.bytes[start + position]
                check(.tokenComesFirst, isRight, "a sender wrote something else before its token")
            }
            monitor.tokenRemaining -= offset
        }
        guard offset < bytes.count else { return }
        check(
            .tokenComesFirst,
            monitor.serverTokenRemaining == 0,
            "a sender wrote before the handshake was done"
        )
        while offset < bytes.count, violation == nil {
            let rest = unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            let wasBetween = monitor.isBetweenMessages
            let step: FrameMessageDecoder.Step
            do {
                step = try monitor.decoder.decode(rest)
                coverage.checked(.messagesAreWhole)
            } catch {
                return violate(.messagesAreWhole, "sender \(monitor.sender.index) wrote what is no message: \(error)")
            }
            if wasBetween {
                monitor.beganAt = now
                // A frame and its announcement are one message to the sender.
                if monitor.announcedAt == nil { monitor.shared.isUnderWay = false }
                monitor.mayRepeat = monitor.hasReasonToRepeat
                // What was asked for after the frame was submitted may be answered by the next one.
                if monitor.sender.submittedAt > monitor.reasonAt { monitor.hasReasonToRepeat = false }
                check(.nothingAfterStopped, monitor.stoppedOnWire == nil, "a message follows `stopped`")
            }
            take(step, rest, monitor)
            offset += step.consumed
        }
    }

    private func take(_ step: FrameMessageDecoder.Step, _ bytes: Span<UInt8>, _ monitor: SenderMonitor) {
        switch step.event {
        case .incomplete:
            break
        case .message(let message):
            headerWritten(message, monitor)
        case .body(let isLast):
            if monitor.takeBody(bytes.extracting(..<step.consumed)) { identityWritten(monitor) }
            if isLast { messageWritten(monitor) }
        }
    }

    private func headerWritten(_ message: FrameMessageDecoder.Message, _ monitor: SenderMonitor) {
        switch message {
        case .frame(let header):
            frameHeaderWritten(header, monitor)
            jpegBegins(monitor)
        case .audio:
            monitor.keepReasonToRepeat()
            monitor.beginBody(.audio)
            check(.onlyFramesBeforeHello, monitor.hasReadHello, "audio without a hello")
            messageBegins(monitor, wants: .audio)
        case .status(let status):
            statusWritten(status, monitor)
        case .info(let info):
            infoWritten(info, monitor)
        case .sharedBuffer(let header):
            monitor.keepReasonToRepeat()
            messageBegins(monitor, wants: .frames)
            sharedBufferWritten(header, monitor)
            monitor.announcedAt = monitor.beganAt
        case .sharedFrame(let header):
            if let time = monitor.announcedAt.take() { monitor.beganAt = time }
            frameHeaderWritten(header.header, monitor)
            guard let identity = sharedFrameWritten(header, monitor) else { return }
            if identity.number == monitor.lastFrame { coverage.count(.sharedRepeat) }
            frameIdentified(identity, monitor)
            messageWritten(monitor)
            sharedFrameEnds(monitor)
        case .unknown:
            violate(.messagesAreWhole, "sender \(monitor.sender.index) writes a message of no kind")
        }
    }

    private func frameHeaderWritten(_ header: FrameHeader, _ monitor: SenderMonitor) {
        monitor.header = header
        checkInfoCame(header, monitor)
        monitor.beginBody(.frame)
        checkAudioIsOut(monitor)
        messageBegins(monitor, wants: .frames)
    }

    private func messageBegins(_ monitor: SenderMonitor, wants kind: ControlRequest.Wants) {
        check(
            .nothingWhilePaused,
            !monitor.isPausedOnWire,
            "sender \(monitor.sender.index) begins a message behind the status that answered a pause"
        )
        // Until a change is answered what was wanted before may still begin.
        let wants = monitor.wants.union(monitor.answeredWants)
        check(.onlyWhatIsWanted, wants.contains(kind), "sender \(monitor.sender.index) begins what is not wanted")
    }

    private func identityWritten(_ monitor: SenderMonitor) {
        guard let identity = Content.header(monitor.identityBytes) else {
            return violate(.integrity, "sender \(monitor.sender.index) writes a body that was never submitted")
        }
        switch monitor.kind {
        case .audio:
            check(.audioInOrder, identity.number > monitor.lastAudio, "audio \(identity.number) out of order")
            monitor.lastAudio = identity.number
        case .frame, .none:
            frameIdentified(identity, monitor)
        }
    }

    private func frameIdentified(_ identity: Content.Identity, _ monitor: SenderMonitor) {
        let (sender, last) = (monitor.sender, monitor.lastFrame)
        let quality = monitor.header.map { Self.quality(of: identity, $0) } ?? 0
        check(.order, identity.number >= last, "sender \(sender.index) writes frame \(identity.number) after \(last)")
        if identity.number == last {
            coverage.count(.latestFrameRepeated)
            let isAsked = monitor.mayRepeat || sender.mayRepeat
            let isPreferred = monitor.newPreferences > 0
            // What was sent at less is made sharp also after the program has switched the adaptation off.
            let mayBeBlurred = sender.plan.adaptation != nil || isAdapted(sender)
            let isSharper = mayBeBlurred && quality > monitor.lastQuality
            if isSharper { coverage.count(.sharpened) }
            check(
                .repeatsHaveReasons,
                isAsked || isPreferred || isSharper,
                "sender \(sender.index) repeats frame \(last) unasked, at quality \(quality) after \(monitor.lastQuality)"
            )
            // One that is sharper may have been prepared before the preference, which is still to be followed.
            if !isAsked, !isSharper, isPreferred { monitor.newPreferences -= 1 }
        }
        (monitor.lastFrame, monitor.lastQuality) = (identity.number, quality)
        monitor.lastLook = sender.encoded[identity.number]?.look
        guard let header = monitor.header else { return }
        frameBegins(identity, header, of: sender)
        if violation == nil { checkPreference(header, identity.number, monitor) }
    }

    private func messageWritten(_ monitor: SenderMonitor) {
        switch monitor.kind {
        case .frame:
            let number = monitor.lastFrame
            monitor.frames.append(number)
            // The number of a frame that was cut off may be taken back: no receiver has that frame.
            if let sequence = monitor.header?.sequence {
                let sender = monitor.sender
                sender.lastSequence = max(sender.lastSequence ?? 0, sequence)
            }
            if let askedAt = monitor.frameAskedAt, askedAt <= monitor.beganAt {
                let isAnswer = isAsNew(monitor.sender, number, as: monitor.frameAskedFor)
                if isAnswer { monitor.frameAskedAt = nil } else { monitor.hasOlderFrameCome = true }
            }
            frameWritten(number, of: monitor.sender)
        case .audio, .none: break
        }
        monitor.kind = .none
    }

    private func statusWritten(_ status: SenderStatus, _ monitor: SenderMonitor) {
        monitor.keepReasonToRepeat()
        check(.onlyFramesBeforeHello, monitor.hasReadHello, "a status without a hello")
        monitor.statuses += 1
        if monitor.beganAt >= monitor.changedAt { monitor.answeredWants = monitor.wants }
        monitor.lastState = status.state
        monitor.lastRefusals = status.refusedPreferences
        let refusals = monitor.refusals
        check(.preferencesAreAnswered, status.refusedPreferences <= refusals, "more is refused than was preferred")
        if let pong = status.pong {
            check(.pongsAnswerPings, monitor.pingsRead.contains(pong), "a pong that answers no ping")
            monitor.lastPongWritten = pong
        }
        switch status.state {
        case .live: monitor.isPausedOnWire = false
        case .paused: monitor.isPausedOnWire = true
        case .stopped(let reason):
            monitor.stoppedOnWire = reason
            if let asked = monitor.stopRead {
                check(
                    .stopIsAnswered,
                    monitor.sender.hasClosed || asked == reason,
                    "another reason than asked"
                )
            }
        }
        let limit = monitor.questions + Int(clamping: monitor.refusals) + (monitor.stoppedOnWire == nil ? 0 : 1)
        check(.oneAnswerEach, monitor.statuses <= limit, "\(monitor.statuses) statuses, asked \(limit)")
    }

    // MARK: What the sender reads

    func monitorRead(_ monitor: SenderMonitor, _ bytes: UnsafeRawBufferPointer) {
        var offset = min(bytes.count, monitor.serverTokenRemaining)
        monitor.serverTokenRemaining -= offset
        while offset < bytes.count, monitor.understandsRequests {
            let rest = unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            guard let step = try? monitor.requests.decode(rest) else {
                monitor.understandsRequests = false
                return check(.requestsAreWhole, !hasOurReceiver(monitor), "a server of this package writes no request")
            }
            offset += step.consumed
            switch step.event {
            case .request(let request): requestRead(request, monitor)
            case .release(let buffer): releaseRead(buffer, monitor)
            case .skipped(let isPreference):
                guard isPreference, monitor.hasReadHello else { continue }
                coverage.count(.badPreference)
                monitor.refusals += 1
            case .discarded, .incomplete: break
            }
        }
    }

    /// Whether a server of this package is at the other end.
    func hasOurReceiver(_ monitor: SenderMonitor) -> Bool {
        let peer = sockets[monitor.socket].formerPeer
        return peer >= 0 && sockets[peer].isOurs
    }

    func noteRead(_ request: @autoclosure () -> String, _ monitor: SenderMonitor) {
        note("sender \(monitor.sender.index) reads \(request())")
        monitor.reasonAt = now
    }

    /// Returns whether the request has an effect.
    func checkHelloCame(before request: @autoclosure () -> String, _ monitor: SenderMonitor) -> Bool {
        let hasReadHello = monitor.hasReadHello
        check(.helloComesFirst, hasReadHello || !hasOurReceiver(monitor), "\(request()) comes before a hello")
        return hasReadHello && monitor.stopRead == nil
    }

    private func requestRead(_ request: ControlRequest, _ monitor: SenderMonitor) {
        noteRead("\(request)", monitor)
        if case .hello(let hello) = request {
            if hello.wants.contains(.frames), !monitor.wants.contains(.frames) {
                askForFrame(monitor)
            }
            monitor.hasReadHello = true
            monitor.wantsInfo = hello.wantsInfo
            if !hello.wants.contains(.frames) { monitor.hasAskedForSilence = true }
            monitor.questions += 1
            helloRead(hello, monitor)
            // A sender that has closed sends what it had accepted, whatever is wanted by then.
            guard !monitor.sender.hasClosed else { return }
            if monitor.wants != hello.wants { monitor.changedAt = now }
            monitor.wants = hello.wants
            return
        }
        guard checkHelloCame(before: "\(request)", monitor) else { return }
        switch request {
        case .hello: break
        case .pause:
            coverage.count(.pause)
            if !monitor.isPauseAsked { monitor.changedAt = now }
            monitor.isPauseAsked = true
            monitor.hasAskedForSilence = true
            monitor.questions += 1
        case .resume:
            if monitor.isPauseAsked {
                monitor.changedAt = now
                askForFrame(monitor)
            }
            monitor.isPauseAsked = false
            monitor.questions += 1
        case .stop(let reason):
            coverage.count(.stop)
            monitor.stopRead = reason
            monitor.sender.hasReadStop = true
        case .prefer:
            coverage.count(.preference)
            monitor.newPreferences += 1
        case .refresh:
            coverage.count(.refresh)
            guard !monitor.isPauseAsked, monitor.wants.contains(.frames) else { return }
            askForFrame(monitor)
        case .ping(let number):
            coverage.count(.ping)
            monitor.questions += 1
            monitor.pingsRead.insert(number)
            monitor.lastPing = number
        case .decline: declineRead(monitor)
        case .info(let info): infoRead(info, monitor)
        }
    }
}
