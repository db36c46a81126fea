internal import FrameSocket
internal import FrameTransport
internal import FrameWire

/// The program around a sender: it opens, offers, submits, waits and closes.
extension World {
    func perform(_ action: Plan.Action, sender index: Int) {
        let sender = senders[index]
        switch action {
        case .appear:
            open(sender)
        case .leave(let reason):
            close(sender, reason ?? .stoppedByUser)
        case .offer(let offering):
            sender.runs.append(offering)
            offerNext(sender, run: sender.runs.count - 1)
        case .audio(let count, let length):
            for _ in 0..<count { sendAudio(sender, length: length) }
        case .openWithin(let limit, let cancelledAfter):
            openWithin(sender, limit, cancelledAfter)
        case .cancelFrame:
            cancelFrame(sender)
        default:
            performUploading(action, of: sender)
        }
    }

    // MARK: Frames

    /// Offers the next frame of a run.
    func offerNext(_ sender: SimSender, run: Int) {
        guard run < sender.runs.count, sender.runs[run].count > 0 else { return }
        sender.runs[run].count -= 1
        let plan = sender.runs[run]
        if !plan.isStatic || sender.offers.isEmpty { sender.content += 1 }
        var offer = SimSender.Offer(
            content: sender.content,
            length: max(Content.headerByteCount, plan.length),
            timestamp: now,
            offeredAt: now
        )
        if sender.plan.usesUploader { chooseImage(&offer, sender) }
        sender.offers.append(offer)
        note("sender \(sender.index) offers frame \(sender.offers.count)")
        if sender.plan.usesUploader {
            offerToUploader(sender, UInt32(sender.offers.count))
        } else {
            let number = UInt32(sender.offers.count)
            submit(message(sender, number, sequence: UInt64(number)), of: sender)
        }
        guard plan.count > 0 else { return }
        schedule(of: sender, after: max(1, plan.interval)) { [self] in offerNext(sender, run: run) }
    }

    /// Decides what kind of image a frame is.
    private func chooseImage(_ offer: inout SimSender.Offer, _ sender: SimSender) {
        offer.kind =
            switch sender.plan.images {
            case .none, .ordinary: sender.plan.images
            case .mixed: random.pick(.none, .ordinary, .mixed)
            }
        offer.scale = sender.uploader?.machine.ownConfiguration.scale ?? sender.plan.scale
        offer.revision = sender.terms.revision
        guard offer.isImage else { return }
        offer.size = ImageContent.size(length: offer.length)
        // An image that is turned by half keeps its size, and has room for its identity.
        offer.orientation = random.pick(.up, .up, sender.plan.appliesOrientation ? .down : .right)
    }

    /// The message of a frame that was offered.
    func message(_ sender: SimSender, _ number: UInt32, sequence: UInt64?) -> FrameMessage {
        let offer = sender.offers[Int(number) - 1]
        let identity = Content.Identity(
            sender: sender.plan.identity,
            number: number,
            length: UInt32(offer.length),
            content: offer.content
        )
        return FrameMessage(
            jpeg: Content.bytes(identity, pool: pool),
            info: FrameInfo(
                bufferSize: BufferSize(width: 64, height: 64),
                timestamp: offer.timestamp,
                sequence: sequence
            )
        )
    }

    /// The lane says what became of a frame: once for each that was accepted.
    func settled(_ settlement: SendLaneMachine.Settlement, of sender: SimSender) {
        note("  frame of ticket \(settlement.ticket): \(settlement.error.map { "\($0.code)" } ?? "sent")")
        let isKnown = sender.submitted.remove(settlement.ticket) != nil
        check(.toldOnce, isKnown, "sender \(sender.index) is told twice what became of a frame")
        if sender.plan.usesUploader { uploadSettled(settlement, of: sender) }
    }

    /// The task that sends a frame is cancelled.
    private func cancelFrame(_ sender: SimSender) {
        guard let ticket = sender.submitted.max() else { return }
        coverage.count(.frameCancelled)
        if let settlement = sender.lane.cancel(ticket) { settled(settlement, of: sender) }
        check(.promptness, !sender.submitted.contains(ticket), "a cancelled send goes on waiting")
    }

    private func sendAudio(_ sender: SimSender, length: Int) {
        sender.audioNumber += 1
        let bytes = max(Content.headerByteCount, length) & ~3
        let identity = Content.Identity(
            sender: sender.plan.identity,
            isAudio: true,
            number: sender.audioNumber,
            length: UInt32(bytes),
            content: 0
        )
        let audio = AudioBlock(
            kind: .app,
            sampleRate: 48_000,
            channels: 2,
            timestamp: now,
            sequence: UInt64(sender.audioNumber),
            samples: Content.bytes(identity, pool: pool)
        )
        if (try? submit(audio, of: sender)) != nil { coverage.count(.audio) }
    }

    // MARK: Opening

    private func openWithin(_ sender: SimSender, _ limit: UInt64, _ cancelledAfter: UInt64?) {
        let index = sender.waiters.count
        let caller = SimSender.Caller(sender: sender)
        let opening = Opening(limit: Duration(nanoseconds: limit), deadline: now + limit) { result in
            caller.sender.settle(index, result)
        }
        sender.waiters.append(SimSender.Waiter(opening: opening))
        execute(for: sender) { [self] in
            sender.waiters[index].beganAt = now
            sender.waiters[index].joinedAttempt = sender.socket >= 0 && sender.states.last != .connected
            change(sender) { $0.open(for: opening, sender) }
        }
        checkSettled(index, of: sender, after: limit + 5_000_000)
        guard let cancelledAfter else { return }
        schedule(after: cancelledAfter) { [self] in
            guard !sender.waiters[index].isSettled else { return }
            coverage.count(.cancelled)
            execute(for: sender) { [self] in change(sender) { $0.abandon(opening, sender) } }
            checkSettled(index, of: sender, after: 3_000_000)
        }
    }

    private func checkSettled(_ waiter: Int, of sender: SimSender, after delay: UInt64) {
        schedule(after: delay) { [self] in
            let isSettled = sender.waiters[waiter].isSettled
            check(.promptness, isSettled, "sender \(sender.index): an opening goes on waiting after its limit")
        }
    }

    /// A caller has given up: a server was tried for it, unless the last connection had not ended.
    private func checkAttempt(for waiter: SimSender.Waiter, of sender: SimSender) {
        let wasTried = waiter.joinedAttempt || sender.connectedAt ?? 0 >= waiter.beganAt
        let lasted = sender.states.last == .connected || sender.disconnectedAt >= waiter.opening.deadline ?? .max
        check(.callersGetAnAttempt, wasTried || lasted, "sender \(sender.index): an opening ends without an attempt")
    }

    func settle(_ index: Int, _ result: Result<Void, TransportError>, of sender: SimSender) {
        let waiter = sender.waiters[index]
        check(.toldOnce, !waiter.isSettled, "a caller is told twice that the connection has opened")
        sender.waiters[index].isSettled = true
        if case .failure(let error) = result, error.code == .openTimedOut {
            coverage.count(.openTimeout)
            check(.promptness, now >= waiter.opening.deadline ?? 0, "an opening timed out before its limit")
            checkAttempt(for: waiter, of: sender)
        }
    }

    /// Nobody waits for the connection any more: attempts that were made for those who did have ended.
    func checkWanted(_ sender: SimSender) {
        // One that was closed during the handshake reads the server's token to its end, within `linger`.
        guard !sender.isWanted, !sender.hasClosed, sender.machine.waitingCount == 0, sender.closeReason == nil else {
            return
        }
        let state = sender.machine.publishedState
        check(.cancelledAttemptsEnd, state == .idle, "sender \(sender.index) goes on for nobody: \(state)")
    }

    // MARK: What the machine tells

    func stateChanged(to state: SocketConnection.State, of sender: SimSender) {
        check(.toldOnce, sender.states.last != state, "a state is told twice")
        if state == .connected, sender.states.contains(.connected) { coverage.count(.reconnect) }
        sender.states.append(state)
        if case .disconnected(let reason) = state {
            sender.disconnectedAt = now
            let isLong = now - sender.lastOpenedAt >= 5_000_000_000
            let isFruitful = isLong || reason.error == nil && sender.hadSent
            sender.fruitless = isFruitful ? 0 : sender.fruitless + 1
        }
        if state == .idle { sender.fruitless = 0 }
        if state == .connected {
            sender.lastOpenedAt = now
            sender.isWanted = true
            check(.neverItself, !isConnectedToItself(sender.socket), "sender \(sender.index) talks to itself")
        }
    }

    func termsChanged(to terms: ReceiverTerms, of sender: SimSender) {
        check(.order, terms.revision > sender.terms.revision, "terms are told out of order")
        if terms.connection != sender.terms.connection {
            let isNew = terms.preferences == .init() && !terms.isPaused && terms.wants == .frames
            check(.preferencesEndWithReceiver, isNew, "a new receiver has terms that it did not state: \(terms)")
        }
        let hasHello = sender.lane.receiver.hello != nil
        check(.preferencesEndWithReceiver, terms.isConnected || !hasHello, "a hello outlives its receiver")
        if terms.connection != sender.terms.connection { sender.openedAt = now }
        sender.terms = terms
        termsChanged(of: sender)
    }

    func senderEnded(_ sender: SimSender, _ reason: CloseReason) {
        if sender.timer >= 0 {
            cancel(sender.timer, on: sender.thread)
            sender.timer = -1
        }
        if sender.uploadTimer >= 0 {
            cancel(sender.uploadTimer, on: sender.thread)
            sender.uploadTimer = -2
        }
        let isAskedFor = sender.hasClosed || sender.hasReadStop || !sender.plan.reopens || sender.tokens != nil
        check(.reasons, isAskedFor, "sender \(sender.index) ends for good by itself: \(reason)")
        uploaderConnectionEnded(sender)
    }
}
