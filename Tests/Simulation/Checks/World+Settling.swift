internal import FrameSocket
internal import FrameTransport
internal import FrameWire

/// What must be true once faults have stopped, and what must be gone once everything was released.
extension World {
    /// How long everything may take to come to rest.
    ///
    /// A frame that `every(n)` holds back is due after n intervals of its source: none is longer than what has passed.
    var settlingTime: UInt64 {
        let intervals = senders.map { if case .every(let n) = $0.pacing.rate { n } else { 0 } }.max() ?? 0
        let isSlow = senders.contains { $0.byteRate != nil }
        return (isSlow ? 60_000_000_000 : 14_000_000_000) + UInt64(intervals) * now
    }

    /// Lets every program consume, and asks for nothing more.
    func stopProgramFaults() {
        for server in servers {
            server.pace = .prompt
            server.takesConnections = true
            consumeConnections(server)
            for index in server.connections.values.sorted() { consumeFrames(receivers[index]) }
        }
        for receiver in receivers where receiver.closeReason != nil { consumeFrames(receiver) }
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
            let missing = missing(sender)
            let what = "sender \(sender.index): \(missing?.what ?? "")"
            check(.stillImageIsSharp, missing?.promise != .stillImageIsSharp, what)
            check(.latestFrame, missing?.promise != .latestFrame, what)
        }
        for monitor in monitors where isCurrent(monitor) { checkAnswers(monitor) }
        checkNothingIsStuck()
        checkUploadersSettled()
        checkShared()
    }

    /// What hostile peers have done has had its consequences, before they leave.
    func checkHostility() {
        checkRules()
        for monitor in monitors where isCurrent(monitor) && isAsleep(monitor.sender.thread) {
            guard mustAnswer(monitor) else { continue }
            let isTold = monitor.lastRefusals == monitor.refusals
            check(.preferencesAreAnswered, isTold, "a preference is refused without a word")
        }
    }

    func isCurrent(_ monitor: SenderMonitor) -> Bool {
        sockets[monitor.socket].isOpen && monitor.sender.socket == monitor.socket
            && sockets[monitor.socket].peer >= 0 && sockets[sockets[monitor.socket].peer].isOpen
    }

    /// Whether the sender answers requests: once it has been stopped or closed, it obeys none.
    private func mustAnswer(_ monitor: SenderMonitor) -> Bool {
        let sender = monitor.sender
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
        sockets[sockets[monitor.socket].peer].inbound.count == 0 && monitor.sender.lane.queueCount == 0
    }

    /// What a receiver still lacks; nil for nothing.
    private func missing(_ sender: SimSender) -> (promise: Promise, what: String)? {
        guard sender.plan.usesUploader, case .connected = sender.machine.publishedState else { return nil }
        guard let monitor = sender.monitor, isCurrent(monitor), wantsFrames(monitor) else { return nil }
        if isBlurred(sender, monitor) { return (.stillImageIsSharp, "the latest image is not sharp") }
        return missingFrame(sender, monitor).map { (.latestFrame, $0) }
    }

    func wantsFrames(_ monitor: SenderMonitor) -> Bool {
        guard monitor.wants.contains(.frames), !monitor.isPauseAsked, monitor.stopRead == nil else { return false }
        let peer = sockets[monitor.socket].peer
        // Somebody reads at the other end.
        if let receiver = owner(of: peer) as? SimReceiver {
            return receiver.machine.isReady && receiver.isTaken && !receiver.isLetGo && !receiver.isEnding
        }
        if case .peer(let peer) = sockets[peer].watcher, case .plainReceiver = peers[peer].role { return true }
        return false
    }

    // MARK: Release

    func releasePrograms() {
        for sender in senders {
            sender.runs.removeAll()
            close(sender, .stoppedByUser)
        }
        for server in servers {
            server.takesConnections = true
            close(server)
            consumeConnections(server)
            if server.isDraining { execute(for: server) { [self] in change(server) { $0.close(server) } } }
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
            let name = "sender \(sender.index)"
            check(.noResidue, sender.closeReason != nil, "\(name) has not ended: \(sender.machine.publishedState)")
            let frames = sender.isSubmitting || sender.lane.hasFrame ? 1 : 0
            let callers = sender.machine.waitingCount
            checkNothing(isLeftBy: name, ["frames": frames, "messages": sender.lane.queueCount, "callers": callers])
        }
        for server in servers {
            check(.noResidue, server.isFinished, "server \(server.index) has not ended")
            let arrivals = server.arrivals.mailbox
            checkNothing(
                isLeftBy: "server \(server.index)",
                ["connections": server.machine.connectionCount + arrivals.count, "callers": arrivals.waiterCount]
            )
        }
        for receiver in receivers {
            check(.noResidue, receiver.closeReason != nil, "connection \(receiver.index) has not ended")
            let waiting =
                receiver.frames.mailbox.waiterCount + receiver.audio.mailbox.waiterCount
                + receiver.statuses.mailbox.waiterCount
            checkNothing(
                isLeftBy: "connection \(receiver.index)",
                ["callers": waiting, "bytes": receiver.machine.heldByteCount]
            )
        }
        for budget in budgets {
            let machine = budget.machine
            checkNothing(
                isLeftBy: "a budget",
                [
                    "waiting bodies": machine.waitingCount, "connections": machine.accountCount,
                    "admitted bytes": budget.admitted, "bytes in use": machine.bytes / 2 - machine.free,
                    "bytes of connections": machine.bytes / 2 - machine.freeForConnections,
                    "places": machine.placeCount, "mapped bytes": machine.mappedBytes,
                ]
            )
        }
        checkUploadersReleased()
        checkSharedReleased()
    }

    func checkNothing(isLeftBy whose: String, _ counts: KeyValuePairs<String, Int>) {
        for (what, count) in counts { check(.noResidue, count == 0, "\(whose) has \(count) \(what) left") }
    }
}
