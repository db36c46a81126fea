internal import FrameTransport

/// Programs' threads that are faster than the connections'.
extension World {
    /// Does something later that the program of a sender may do sooner.
    func schedule(of sender: SimSender, after delay: UInt64, _ body: @escaping () -> Void) {
        schedule(after: delay, among: &sender.pending, body)
    }

    /// Does something later that the program of a receiver may do sooner.
    func schedule(of receiver: SimReceiver, after delay: UInt64, _ body: @escaping () -> Void) {
        schedule(after: delay, among: &receiver.pending, body)
    }

    private func schedule(after delay: UInt64, among others: inout [Pending], _ body: @escaping () -> Void) {
        let pending = Pending(body)
        others.append(pending)
        schedule(after: delay) { pending.run() }
    }

    /// Runs something that a sender's program does soon anyway, now: the connection's thread is interrupted between two
    /// steps, and the program's threads go on.
    func overtake(_ sender: SimSender) {
        sender.pending.removeAll(where: \.hasRun)
        guard !sender.pending.isEmpty, hasFollowedRequests(sender), sender.racing.chance(15) else { return }
        coverage.count(.programOvertakes)
        note("  the program is faster than the connection's thread:")
        sender.pending[sender.racing.below(sender.pending.count)].run()
    }

    /// The same for a received connection: its consumers run between two calls of its machine.
    func overtake(_ receiver: SimReceiver) {
        receiver.pending.removeAll(where: \.hasRun)
        guard !receiver.pending.isEmpty, !receiver.consumesOnThread, receiver.racing.chance(5) else { return }
        coverage.count(.consumerOvertakes)
        note("  a consumer is faster than the connection's thread:")
        receiver.pending[receiver.racing.below(receiver.pending.count)].run()
    }

    /// Whether the lane has heard of all that the sender has read: the monitor knows that, and not what comes between.
    private func hasFollowedRequests(_ sender: SimSender) -> Bool {
        guard let monitor = sender.monitor else { return true }
        let hasDeclined = !monitor.shared.isAccepted && sender.terms.acceptsSharedMemory
        let receiver = sender.lane.receiver
        return monitor.wants == receiver.wants && monitor.isPauseAsked == receiver.isPaused
            && monitor.stopRead == nil && (!hasDeclined || receiver.declinesSharedMemory)
    }
}
