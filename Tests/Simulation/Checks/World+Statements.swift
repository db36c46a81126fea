internal import FrameSocket
internal import FrameTransport
internal import FrameWire

/// What both sides state about themselves, once on each connection.
extension World {
    // MARK: The sender's side

    /// The sender writes an info.
    func infoWritten(_ info: ControlRequest.SessionInfo, _ monitor: SenderMonitor) {
        coverage.count(.info)
        monitor.keepReasonToRepeat()
        check(.infoOnlyIfAsked, monitor.hasReadHello && monitor.wantsInfo, "an info that nobody asked for")
        check(.infoOnlyIfAsked, monitor.statuses > 0, "an info before the answer to the hello")
        check(.infoOnlyIfAsked, monitor.info == nil, "a second info")
        checkInfo(info, of: monitor.sender)
        monitor.info = info
    }

    private func checkInfo(_ info: ControlRequest.SessionInfo, of sender: SimSender) {
        let isWhole = info.values == Statement.info(sender.plan.statement).values
        check(.infoIsWhole, isWhole, "sender \(sender.index) does not state \(info)")
    }

    /// A frame begins: a receiver that asked, and has its answer, has the info, with a size if it always wanted frames.
    func checkInfoCame(_ header: FrameHeader, _ monitor: SenderMonitor) {
        guard monitor.wantsInfo, monitor.statuses > 0 else { return }
        let isTold = monitor.info != nil && (monitor.hasAskedForSilence || monitor.info?.size != nil)
        check(.infoComesFirst, isTold, "a frame of \(header.bufferSize) after \(monitor.info as Any)")
    }

    /// A receiver that asked, and gets no frames, has the info.
    func checkInfoCame(_ monitor: SenderMonitor) {
        guard monitor.wantsInfo, monitor.isPauseAsked || !monitor.wants.contains(.frames) else { return }
        check(.infoComesFirst, monitor.info != nil, "a receiver that gets no frames is not told")
    }

    // MARK: The receiver's side

    /// The receiver gets an info.
    func deliver(_ info: ControlRequest.SessionInfo, to receiver: SimReceiver) {
        if let monitor = monitor(of: receiver) { checkInfo(info, of: monitor.sender) }
    }

    /// The sender reads an info.
    func infoRead(_ info: ControlRequest.SessionInfo, _ monitor: SenderMonitor) {
        let isFirst = monitor.infoRead == nil
        monitor.infoRead = info
        guard hasOurReceiver(monitor) else { return }
        coverage.count(.infoOfReceiver)
        let socket = sockets[monitor.socket].formerPeer
        let stated = receivers.last { $0.socket == socket }.map { Statement.info($0.statement) }
        check(.receiversInfoIsWhole, isFirst && info == stated, "what was never stated, or a second time: \(info)")
    }

    /// The sender's program is told what its receiver states.
    func told(_ info: ControlRequest.SessionInfo, _ sender: SimSender) {
        guard info != ControlRequest.SessionInfo() else { return }
        let isRead = sender.monitor?.infoRead == info
        check(.receiversInfoIsWhole, isRead, "sender \(sender.index) is told what its receiver did not state")
    }
}
