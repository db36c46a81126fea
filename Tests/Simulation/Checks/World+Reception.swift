internal import FrameTransport
internal import FrameWire

/// What the programs of servers receive, checked against what was sent.
extension World {
    /// A program has a frame in its hands.
    func received(_ received: SimFrame, by receiver: SimReceiver) {
        let frame = received.frame
        note("receiver \(receiver.index) has frame \(frame.index)")
        receiver.frameCount += 1
        check(.order, frame.index > receiver.lastIndex, "frame \(frame.index) comes after \(receiver.lastIndex)")
        if !servers[receiver.server].plan.deliversNewest {
            let isNext = frame.index == receiver.lastIndex + 1 || receiver.hasSkippedFrames
            check(.everyFrame, isNext, "frame \(frame.index) comes after \(receiver.lastIndex)")
        }
        receiver.lastIndex = frame.index
        keep(received, of: receiver)
        // An empty frame says nothing of itself.
        guard let jpeg = frame.jpeg, jpeg.count > 0 || received.loan != nil else { return }
        let found =
            if let loan = received.loan { loan.image.identity } else { jpeg.withSpan { Content.identify($0) } }
        guard let identity = found, !identity.isAudio else {
            return violate(.integrity, "receiver \(receiver.index) gets a frame that nobody sent")
        }
        coverage.checked(.integrity)
        if let last = receiver.lastFrame {
            check(.integrity, last.sender == identity.sender, "frames of two senders on one connection")
            check(.order, identity.number >= last.number, "frame \(identity.number) comes after \(last.number)")
        }
        receiver.lastFrame = identity
    }

    func received(_ message: AudioBlock, by receiver: SimReceiver) {
        if receiver.stated == .audio { coverage.count(.audioOnly) }
        guard message.bytes.count > 4 else { return }
        guard let identity = message.bytes.withSpan({ Content.identify($0) }), identity.isAudio else {
            return violate(.integrity, "receiver \(receiver.index) gets audio that nobody sent")
        }
        check(.audioInOrder, identity.number > receiver.lastAudio, "audio \(identity.number) out of order")
        receiver.lastAudio = identity.number
    }

    // MARK: What senders write

    /// A sender of this package begins to write a frame.
    func frameBegins(_ identity: Content.Identity, _ header: FrameHeader, of sender: SimSender) {
        var identity = identity
        let earlier = equalFrame(sender, identity.number, header)
        identity.number = earlier ?? identity.number
        let number = Int(identity.number)
        guard identity.sender == sender.plan.identity, number > 0, number <= sender.offers.count else {
            return violate(.integrity, "sender \(sender.index) writes a frame that was never offered")
        }
        let offer = sender.offers[number - 1]
        check(
            .integrity,
            Int(identity.length) == offer.length || offer.isImage || earlier != nil,
            "sender \(sender.index) writes another length than was offered"
        )
        if let before = sender.sentHeaders[identity.number] {
            let isSame = before.isRepeated(by: header, ofAnyKind: offer.isImage || earlier != nil)
            check(.repeatsAreTheSame, isSame, "a repeat differs from the frame: \(before), \(header)")
        } else {
            sender.sentHeaders[identity.number] = header
            let orientation = sender.plan.appliesOrientation ? .up : offer.orientation
            check(.repeatsAreTheSame, !offer.isImage || header.orientation == orientation, "another orientation")
            if let time = header.timestamp {
                check(.repeatsAreTheSame, time == offer.timestamp, "another timestamp than was offered")
            }
            if let sequence = header.sequence {
                check(.sequenceAscends, sequence > sender.lastSequence ?? 0 || sender.lastSequence == nil, "sequence")
            }
        }
    }

    /// The frame that a header is of, if it equals another that has taken the place of its own: an image, or a JPEG.
    private func equalFrame(_ sender: SimSender, _ number: UInt32, _ header: FrameHeader) -> UInt32? {
        guard sender.hasCompared, sender.offers.indices.contains(Int(number) - 1) else { return nil }
        let offer = sender.offers[Int(number) - 1]
        guard let timestamp = header.timestamp else { return nil }
        // Several may have been offered at the same time, of which one was sent.
        let equal = sender.offers.indices.filter {
            sender.offers[$0].content == offer.content && sender.offers[$0].timestamp == timestamp
        }.map { UInt32($0 + 1) }
        guard timestamp == offer.timestamp else {
            let sent = equal.first { sender.sentHeaders[$0].map { $0.sequence == header.sequence } ?? false }
            return sent ?? equal.first { sender.sentHeaders[$0] == nil } ?? equal.first
        }
        guard sender.sentHeaders[number] == nil, header.sequence != nil else { return nil }
        return equal.first { sender.sentHeaders[$0]?.sequence == header.sequence }
    }

    /// A sender of this package has written a frame to its end.
    func frameWritten(_ number: UInt32, of sender: SimSender) {
        guard number > 0, Int(number) <= sender.offers.count else { return }
        let offer = sender.offers[Int(number) - 1]
        if offer.isHeldBack, offer.written == 0 { coverage.count(.trailingFrame) }
        sender.offers[Int(number) - 1].written += 1
        sender.lastWritten = max(sender.lastWritten, number)
        for finisher in sender.finishers.values {
            let isWaitedFor = Int(number) <= finisher.offers
            check(.finishIgnoresLater, isWaitedFor, "uploader \(sender.index): a caller waits for a later frame")
        }
    }

    // MARK: Ends

    /// What follows the connection of a receiver whose sender is, or was, one of this package; nil if another is.
    func monitor(of receiver: SimReceiver) -> SenderMonitor? {
        let peer = sockets[receiver.socket].formerPeer
        return peer >= 0 ? sockets[peer].monitor : nil
    }

    /// A received connection comes to its end for this reason.
    func checkEnd(of receiver: SimReceiver, _ reason: CloseReason) {
        note("receiver \(receiver.index) ends: \(reason)")
        let socket = receiver.socket
        switch reason {
        case .closedLocally:
            let isOurs =
                receiver.isClosed || receiver.isLetGo || servers[receiver.server].isClosed || receiver.isDraining
            check(.reasons, isOurs, "connection \(receiver.index) was closed by nobody: \(reason)")
        case .closedByPeer:
            let isOver =
                sockets[socket].peerHasEnded || sockets[socket].failure != nil || sockets[socket].hasShutReceiving
            check(.reasons, isOver, "connection \(receiver.index) ends cleanly, but its peer goes on")
            checkOrderlyEnd(of: receiver)
        case .failed(let error):
            cover(error, of: receiver)
            checkFailure(of: receiver, error)
        }
    }

    /// Counts why connections fail.
    private func cover(_ error: TransportError, of receiver: SimReceiver) {
        switch error.code {
        case .malformedMessage: coverage.count(.malformed)
        case .noMemory: coverage.count(.bodyRefused)
        case .handshakeTimedOut: coverage.count(.handshakeTimeout)
        case .receiveTimedOut:
            let isIdle = "\(error)".contains("its next message")
            coverage.count(isIdle ? .idleTimeout : .receiveTimeout)
        default: break
        }
    }

    private func checkOrderlyEnd(of receiver: SimReceiver) {
        // A reset may lose the beginning of a message, of which the receiver cannot know.
        guard !sockets[receiver.socket].wasBroken else { return }
        guard let monitor = monitor(of: receiver) else { return }
        check(.endsBetweenMessages, monitor.isBetweenMessages, "an orderly end within a message")
    }

    private func checkFailure(of receiver: SimReceiver, _ error: TransportError) {
        let socket = receiver.socket
        let peer = sockets[socket].formerPeer
        if peer >= 0, sockets[peer].hasEndedInOrder, !sockets[socket].isTCP {
            // What it left unread of this side's requests makes its end a reset, after all that it has sent.
            let isAboutTheEnd = error.code == .connectionLost || error.code == .malformedMessage
            check(.reasons, !isAboutTheEnd, "connection \(receiver.index) ends cleanly between two frames: \(error)")
        }
        if error.code == .receiveTimedOut {
            // Only what has arrived after the deadline may still have to be reported.
            let deadline = threads[receiver.thread].registrations[receiver.registration].passed
            let isLate = sockets[socket].isReported && sockets[socket].reportedAt > deadline
            let isRead = sockets[socket].inbound.visible == 0 || isLate
            check(.nothingIsStuck, isRead, "connection \(receiver.index) has not read all: \(error)")
            checkSilence(of: receiver, error)
        }
        // A sender of this package keeps to the format: only what breaks the connection may fail it.
        // One that left before it saw the server's token has not ended the connection, for it never had one.
        guard receiver.isPresented, let monitor = monitor(of: receiver), monitor.serverTokenRemaining == 0 else {
            return
        }
        let isCut = sockets[socket].wasBroken || !monitor.isBetweenMessages
        switch error.code {
        case .sharedMemory:
            violate(.reasons, "connection \(receiver.index): a sender of this package breaks a rule: \(error)")
        case .connectionLost:
            check(.reasons, isCut, "connection \(receiver.index) is lost, although its sender ended cleanly: \(error)")
        case .malformedMessage:
            check(.reasons, isCut, "connection \(receiver.index): a sender of this package is not understood: \(error)")
        default: break
        }
    }

    /// A sender is blamed for silence after all the time that it has for its next message.
    private func checkSilence(of receiver: SimReceiver, _ error: TransportError) {
        guard let idle = servers[receiver.server].plan.idle, error.message.contains("its next message") else { return }
        check(.deadlinesAreWhole, !receiver.maySenderBeSilent, "connection \(receiver.index): asked for: \(error)")
        let silence = now - receiver.heardAt
        check(.deadlinesAreWhole, silence >= idle, "connection \(receiver.index): silence of \(silence) ns: \(error)")
    }

    /// The consumer of a connection has come to the end of its frames.
    func endOfFrames(_ receiver: SimReceiver, _ error: TransportError?) {
        // A program that has let go of a connection has ended the frames itself, maybe before the connection failed.
        if case .failed? = receiver.closeReason, !receiver.isLetGo {
            check(.reasons, error != nil, "a consumer is not told that its connection failed")
        }
        if error == nil {
            switch receiver.closeReason {
            case .closedByPeer: checkEveryFrame(receiver)
            case .closedLocally where isDrained(receiver): checkEveryFrame(receiver)
            default: break
            }
        }
        if let error, error.code != .departedSenderDropped {
            let isFailed = if case .failed? = receiver.closeReason { true } else { false }
            check(.reasons, isFailed, "the frames of connection \(receiver.index) fail, which ended cleanly: \(error)")
        }
    }

    /// Whether a connection was drained until its sender ended, and neither closed nor cut off before.
    private func isDrained(_ receiver: SimReceiver) -> Bool {
        receiver.drainedAt != nil && !receiver.wasClosed && !receiver.isLetGo
            && !sockets[receiver.socket].hasShutReceiving && !sockets[receiver.socket].wasBroken
    }

    /// Everything that crossed the socket whole has been delivered.
    private func checkEveryFrame(_ receiver: SimReceiver) {
        // Those that were on their way when the receiver declined are skipped.
        guard !servers[receiver.server].plan.deliversNewest, !receiver.hasSkippedFrames, !receiver.shared.hasDeclined,
            let written = monitor(of: receiver)?.frames.count
        else { return }
        check(
            .everyFrame,
            receiver.frameCount == written,
            "\(written) frames crossed connection \(receiver.index), and \(receiver.frameCount) were delivered"
        )
    }

    /// A call of a handler has ended: it must have left something for the others.
    func checkTurn(of owner: any Owner) {
        switch owner {
        case is SimReceiver:
            check(.turnsAreBounded, turn.bytes <= 540 << 10, "\(turn.bytes) bytes in one turn")
            check(.turnsAreBounded, turn.reads <= 70, "\(turn.reads) reads in one turn")
            check(.turnsAreBounded, turn.messages <= 20, "\(turn.messages) messages in one turn")
        case is SimSender:
            check(.turnsAreBounded, turn.bytes <= 40 << 10, "\(turn.bytes) bytes of requests in one turn")
            check(.turnsAreBounded, turn.reads <= 20, "\(turn.reads) reads of requests in one turn")
        case is SimServer:
            check(.turnsAreBounded, turn.accepts <= 70, "\(turn.accepts) connections in one turn")
        default: break
        }
    }
}

extension FrameHeader {
    /// Whether another header is that of the same frame, which may be an image here and a JPEG there.
    fileprivate func isRepeated(by other: FrameHeader, ofAnyKind: Bool) -> Bool {
        guard ofAnyKind else { return self == other }
        // Another receiver may get an image in another size.
        return info.timestamp == other.timestamp && info.sequence == other.sequence
            && info.orientation == other.orientation
    }
}
