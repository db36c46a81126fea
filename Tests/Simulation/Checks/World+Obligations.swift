internal import FrameTransport
internal import FrameWire

/// What must happen within a short time, whatever the others do.
extension World {
    // MARK: Departed senders

    /// The peer of a connection has gone, and all that it sent has arrived: the connection must end without anybody's help.
    func peerHasGone(_ socket: Int) {
        guard sockets[socket].isOpen, let receiver = owner(of: socket) as? SimReceiver else { return }
        awaitEnd(of: receiver, after: Self.timeToEnd) { [self] hasEnded, what in
            check(.departedReleaseTheirPlace, hasEnded, what)
        }
    }

    private static let timeToEnd: UInt64 = 300_000_000

    /// Tells later whether a connection has ended in time; if its thread was held up, that time begins afterwards.
    func awaitEnd(of receiver: SimReceiver, after delay: UInt64, _ tell: @escaping (Bool, String) -> Void) {
        schedule(after: delay) { [self] in
            let due = threads[receiver.thread].heldUpUntil + Self.timeToEnd
            if now < due { return awaitEnd(of: receiver, after: due - now, tell) }
            tell(receiver.closeReason != nil, "connection \(receiver.index) goes on for too long")
        }
    }

    // MARK: Budgets

    /// A body that waits does so because others hold what it needs, and not for what departed senders have left.
    func checkBudget(_ index: Int) {
        let budget = budgets[index]
        let machine = budget.machine
        check(.budgetHolds, machine.free >= 0 && machine.freeForConnections >= 0, "a budget is overdrawn")
        let available = machine.free + machine.departedBytes
        let isExact = available + budget.admitted == machine.largestBody
        check(.budgetHolds, isExact, "\(available) bytes are free, and \(budget.admitted) are admitted")
        guard let (_, bytes) = machine.firstWaiting else { return }
        check(
            .departedGiveWay,
            bytes > available,
            "\(bytes) bytes are asked for, \(available) are free or departed senders', and nobody gets them"
        )
    }

    // MARK: Before faults stop

    /// What nobody may hold up has been read, although programs are slow or silent.
    func checkUnconsumed() {
        for receiver in receivers where receiver.closeReason == nil && receiver.machine.isReady {
            guard let wants = receiver.stated, !wants.contains(.frames), isAsleep(receiver.thread) else { continue }
            check(
                .audioNeedsNoFrames,
                sockets[receiver.socket].inbound.visible == 0,
                "connection \(receiver.index) wants no frames, and does not read what comes"
            )
        }
    }

    func isAsleep(_ thread: Int) -> Bool {
        threads[thread].isAsleep && threads[thread].inbox.isEmpty && threads[thread].changed.isEmpty
    }

    // MARK: When everything rests

    /// What is not read, or not accepted, although nobody holds it up; nil if there is nothing of that kind.
    var stuck: String? {
        for sender in senders where sender.socket >= 0 && isAsleep(sender.thread) {
            guard case .connected = sockets[sender.socket].phase, sockets[sender.socket].inbound.visible > 0,
                case .connected = sender.machine.publishedState
            else { continue }
            return "sender \(sender.index) does not read what it is sent"
        }
        for receiver in receivers where receiver.closeReason == nil && isAsleep(receiver.thread) {
            guard receiver.waiting == nil, receiver.isTaken,
                sockets[receiver.socket].inbound.visible > 0
            else { continue }
            return "connection \(receiver.index) leaves bytes unread"
        }
        for receiver in receivers where receiver.frames.mailbox.waiterCount > 0 && isAsleep(receiver.thread) {
            guard receiver.frames.mailbox.count > 0 else { continue }
            return "a consumer of connection \(receiver.index) waits for what is there"
        }
        for server in servers where server.socket >= 0 && isAsleep(server.thread) && server.registration >= 0 {
            guard !sockets[server.socket].backlog.isEmpty else { continue }
            return "\(sockets[server.socket].backlog.count) connections wait to be accepted"
        }
        return nil
    }

    func checkNothingIsStuck() {
        let stuck = stuck
        check(.nothingIsStuck, stuck == nil, stuck ?? "")
    }

    // MARK: What a sender writes

    /// A frame begins: nothing that was accepted before waits, but for the status with which the connection ends.
    func checkAudioIsOut(_ monitor: SenderMonitor) {
        // What came while the header was being written waits for the end of the frame.
        guard monitor.beganAt == now else { return }
        // The frame itself counts until the write has ended.
        let waiting = monitor.sender.lane.queueCount - (monitor.sender.lane.isAccepting ? 1 : 2)
        check(.audioGoesFirst, waiting <= 0, "a frame begins before \(waiting) audio messages and statuses")
    }

    /// A sender has written all that it will: a receiver that said hello knows why.
    func checkEndIsTold(_ sender: SimSender) {
        guard let monitor = sender.monitor else { return }
        let peer = sockets[sender.socket].peer
        guard peer >= 0, sockets[peer].isOpen, monitor.mustTell, sender.hasClosed || monitor.stopRead != nil else {
            return
        }
        check(.endIsTold, monitor.stoppedOnWire != nil, "sender \(sender.index) ends without a word")
    }

    /// A sender leaves its socket: it knows if its receiver has discarded something.
    func checkLossIsKnown(_ sender: SimSender) {
        // Who closes first is not told.
        guard !sender.hasClosed, let receiver = receiver(of: sender), let since = receiver.lingersSince,
            receiver.drainedAt == nil,
            let monitor = sender.monitor, !sockets[sender.socket].isTCP, !receiver.hasSkippedFrames,
            !receiver.shared.hasDeclined, now < since + 100_000_000, receiver.machine.senderReadsRequests
        else { return }
        guard receiver.hadUntaken || monitor.frames.count > receiver.delivered else { return }
        coverage.count(.discarded)
        let isKnown = sender.isToldOfDiscards || sockets[receiver.socket].inbound.count > 0
        check(
            .lossIsKnown,
            isKnown || sender.hasReadStop,
            "sender \(sender.index) takes for delivered what is discarded"
        )
    }

    // MARK: What a receiver writes

    /// A connection writes no more: the sender was asked to stop, if the program wanted that and it could be.
    func checkStopIsWritten(_ receiver: SimReceiver) {
        guard let owed = receiver.owedStop, now < owed.until, sockets[receiver.socket].failure == nil else { return }
        let peer = sockets[receiver.socket].peer
        // One that has shut down its sending ends by itself.
        guard peer >= 0, sockets[peer].isOpen, !sockets[peer].hasShutReceiving, !sockets[peer].hasShutSending else {
            return
        }
        check(.stopIsFinal, false, "connection \(receiver.index) ends, and its sender is not asked to stop")
    }

    // MARK: What a sender leaves unread

    /// A sender gives up its socket: a stop that it could have read counts.
    ///
    /// An attempt that nobody waits for anymore has not become a connection, and its stop is nobody's.
    func checkLeft(_ sender: SimSender) {
        guard sender.isWanted || sender.machine.waitingCount > 0 else { return }
        guard let monitor = sender.monitor, monitor.understandsRequests else { return }
        let count = sockets[sender.socket].inbound.visible
        guard count > 0, count <= 4096 else { return }
        var decoder = monitor.requests
        var hasHello = monitor.hasReadHello
        let bytes = unsafe scratch(count)
        _ = unsafe sockets[sender.socket].inbound.read(into: bytes)
        var offset = min(count, monitor.serverTokenRemaining)
        while offset < count {
            let rest = unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            guard let step = try? decoder.decode(rest) else { return }
            offset += step.consumed
            guard case .request(let request) = step.event else { continue }
            if case .hello = request { hasHello = true }
            if case .stop = request, hasHello {
                note("sender \(sender.index) leaves a stop unread")
                sender.hasReadStop = true
            }
        }
    }

    /// A sender that leaves within a message had a reason to.
    func checkMessageUnderWay(_ sender: SimSender) {
        guard let monitor = sender.monitor, !monitor.isBetweenMessages, sender.sawEndAt == eventCount else { return }
        let peer = sockets[sender.socket].peer
        let isReading =
            peer >= 0 && sockets[peer].isOpen && !sockets[peer].hasShutReceiving && !sockets[sender.socket].wasBroken
        check(.halfCloseEndsFrame, !isReading, "sender \(sender.index) cuts a frame whose receiver still reads")
    }
}
