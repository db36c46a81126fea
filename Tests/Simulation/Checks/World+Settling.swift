internal import FrameTransport
internal import FrameWire

/// What must be true once faults have stopped, and what must be gone once everything was released.
extension World {
    /// How long everything may take to come to rest.
    ///
    /// A frame that `every(n)` holds back is due after n intervals of its source, and that may be slow.
    var settlingTime: UInt64 {
        let isHeldBack = senders.contains { if case .every(let n) = $0.pacing { n > 1 } else { false } }
        let isSlow = senders.contains { $0.byteRate != nil }
        return isHeldBack ? 200_000_000_000 : isSlow ? 60_000_000_000 : 14_000_000_000
    }

    /// Lets every program consume, and asks for nothing more.
    func stopProgramFaults() {
        for server in servers {
            server.pace = .prompt
            server.takesConnections = true
            consumeConnections(server)
            for index in server.connections.values.sorted() { wakeConsumer(receivers[index]) }
        }
        for receiver in receivers where receiver.closeReason != nil { wakeConsumer(receiver) }
        for receiver in receivers {
            if case .everything = servers[receiver.server].plan.keeping { continue }
            receiver.kept.removeAll()
        }
        stopUploadFaults()
    }

    /// Whether every receiver has what it should have.
    var isSettled: Bool {
        for sender in senders where missing(sender) != nil { return false }
        return stuck == nil
    }

    func checkSettled() {
        for sender in senders where !awaitsHello(sender) {
            checkSharpness(sender)
            let missing = missing(sender)
            check(.latestFrame, missing == nil, "sender \(sender.index): \(missing ?? "")")
        }
        for monitor in monitors where isCurrent(monitor) { checkAnswers(monitor) }
        checkNothingIsStuck()
        checkUploadersSettled()
        checkShared()
    }

    /// What hostile peers have done has had its consequences, before they leave.
    func checkHostility() {
        checkRules()
        for monitor in monitors where isCurrent(monitor) && isAsleep(senders[monitor.sender].plan.thread) {
            guard mustAnswer(monitor) else { continue }
            let isTold = monitor.lastRefusals == monitor.refusals
            check(.preferencesAreAnswered, isTold, "a preference is refused without a word")
        }
    }

    func isCurrent(_ monitor: SenderMonitor) -> Bool {
        sockets[monitor.socket].isOpen && senders[monitor.sender].socket == monitor.socket
            && sockets[monitor.socket].peer >= 0 && sockets[sockets[monitor.socket].peer].isOpen
    }

    /// Whether the sender answers requests: once it has been stopped or closed, it obeys none.
    private func mustAnswer(_ monitor: SenderMonitor) -> Bool {
        let sender = senders[monitor.sender]
        guard case .connected = sender.machine.publishedState, monitor.stoppedOnWire == nil else { return false }
        return monitor.hasReadHello && monitor.understandsRequests && monitor.stopRead == nil && !sender.hasClosed
            && readsEverything(monitor)
    }

    /// A receiver that asked has been told how the sender stands.
    private func checkAnswers(_ monitor: SenderMonitor) {
        guard mustAnswer(monitor) else { return }
        let isPaused = monitor.lastState == .paused
        check(.oneAnswerEach, monitor.statuses > 0, "a hello is not answered")
        check(
            .lastAnswerIsTrue,
            isPaused == monitor.isPauseAsked,
            "the last status does not tell how the sender stands"
        )
        let isTold = monitor.lastRefusals == monitor.refusals
        check(.preferencesAreAnswered, isTold, "a preference is refused without a word")
        check(.pongsAnswerPings, monitor.lastPongWritten == monitor.lastPing, "the last ping is not answered")
        checkInfoCame(monitor)
    }

    private func readsEverything(_ monitor: SenderMonitor) -> Bool {
        sockets[sockets[monitor.socket].peer].inbound.count == 0 && senders[monitor.sender].lane.queueCount == 0
    }

    /// What a receiver still lacks; nil for nothing.
    private func missing(_ sender: SimSender) -> String? {
        guard sender.plan.usesUploader, sender.socket >= 0, case .connected = sender.machine.publishedState else {
            return nil
        }
        let index = sockets[sender.socket].monitor
        guard index >= 0, isCurrent(monitors[index]), wantsFrames(monitors[index]) else { return nil }
        return missingFrame(sender, monitors[index])
    }

    func wantsFrames(_ monitor: SenderMonitor) -> Bool {
        guard monitor.wants.contains(.frames), !monitor.isPauseAsked, monitor.stopRead == nil else { return false }
        let peer = sockets[monitor.socket].peer
        // Somebody reads at the other end.
        if case .thread(let thread, let registration) = sockets[peer].watcher,
            case .receiver(let receiver) = threads[thread].registrations[registration].owner
        {
            return receivers[receiver].machine.isReady && receivers[receiver].isTaken && !receivers[receiver].isLetGo
                && !receivers[receiver].isEnding
        }
        if case .peer(let peer) = sockets[peer].watcher, case .plainReceiver = peers[peer].role { return true }
        return false
    }

    // MARK: Release

    func releasePrograms() {
        for sender in senders {
            sender.runs.removeAll()
            sender.hasClosed = true
            execute(.close(.stoppedByUser), for: .sender(sender.index), on: sender.plan.thread)
        }
        for server in servers {
            server.takesConnections = true
            close(server)
            consumeConnections(server)
            if server.isDraining {
                execute(.close(nil), for: .server(server.index), on: server.plan.thread)
            }
        }
    }

    /// What was consumed to its end holds nothing, although its connection is still held.
    func checkConsumed() {
        for receiver in receivers where receiver.frames.hasEnded && receiver.audio.hasEnded {
            check(.noResidue, !receiver.isKept, "connection \(receiver.index) was consumed, and holds memory")
        }
        for receiver in receivers {
            letGo(receiver)
            receiver.inHand = nil
            receiver.kept.removeAll()
        }
        // What follows the connections keeps what it has seen.
        for monitor in monitors { monitor.shared = SharedMonitor() }
        drainOutlet()
    }

    func checkProgramsReleased() {
        for sender in senders {
            check(
                .noResidue,
                sender.closeReason != nil,
                "sender \(sender.index) has not ended: \(sender.machine.publishedState)"
            )
            check(.noResidue, !sender.isSubmitting, "sender \(sender.index): a caller still waits for its frame")
            check(.noResidue, sender.machine.waitingCount == 0, "sender \(sender.index): a caller waits for an opening")
            check(.noResidue, !sender.lane.hasFrame && sender.lane.queueCount == 0, "a lane still holds messages")
        }
        for server in servers {
            check(.noResidue, server.isFinished, "server \(server.index) has not ended")
            check(.noResidue, server.machine.connectionCount == 0, "server \(server.index) has connections")
            check(.noResidue, server.arrivals.mailbox.count == 0, "server \(server.index): connections wait")
            check(
                .noResidue,
                server.arrivals.mailbox.waiterCount == 0,
                "server \(server.index): somebody waits for connections"
            )
        }
        for receiver in receivers {
            check(.noResidue, receiver.closeReason != nil, "connection \(receiver.index) has not ended")
            let waiting =
                receiver.frames.mailbox.waiterCount + receiver.audio.mailbox.waiterCount
                + receiver.statuses.mailbox.waiterCount
            check(.noResidue, waiting == 0, "connection \(receiver.index): \(waiting) callers wait")
            check(.noResidue, receiver.machine.heldByteCount == 0, "connection \(receiver.index) holds memory")
        }
        for budget in budgets {
            let machine = budget.machine
            check(.noResidue, machine.waitingCount == 0, "\(machine.waitingCount) bodies wait for memory")
            check(.noResidue, machine.accountCount == 0, "\(machine.accountCount) connections are remembered")
            check(.noResidue, budget.admitted == 0, "\(budget.admitted) bytes are admitted")
            check(
                .noResidue,
                machine.free == machine.bytes / 2,
                "\(machine.free) of \(machine.bytes / 2) bytes are free"
            )
            check(.noResidue, machine.freeForConnections == machine.bytes / 2, "connections' parts are not given back")
            check(.noResidue, machine.placeCount == 0, "\(machine.placeCount) places of servers are left")
        }
        checkUploadersReleased()
        checkSharedReleased()
    }
}
