internal import FrameSocket
internal import FrameTransport
internal import FrameWire

/// What both sides state about themselves.
extension World {
    // MARK: The sender's side

    /// The program states something else.
    func state(_ number: Int, of sender: SimSender) {
        if sender.statements.last != number { sender.statements.append(number) }
        sender.lane.state(Statement.info(number))
        pumpFromProgram(sender)
    }

    /// The sender writes an info.
    func infoWritten(_ info: ControlRequest.SessionInfo, _ index: Int) {
        coverage.count(.info)
        monitors[index].keepReasonToRepeat()
        let monitor = monitors[index]
        check(.infoOnlyIfAsked, monitor.hasReadHello && monitor.wantsInfo, "an info that nobody asked for")
        check(.infoOnlyIfAsked, monitor.statuses > 0, "an info before the answer to the hello")
        guard let place = place(of: info, senders[monitor.sender], from: monitor.statementPlace) else {
            return violate(.infoIsWhole, "sender \(monitor.sender) writes a mix, or out of order: \(info)")
        }
        monitors[index].statementPlace = place
        monitors[index].info = info
    }

    /// Returns how many statements a sender had made with this one, which is not before another; nil if it is none of them.
    private func place(of info: ControlRequest.SessionInfo, _ sender: SimSender, from earliest: Int) -> Int? {
        guard let number = Statement.number(of: info) else { return nil }
        if number == 0 { return earliest == 0 ? 0 : nil }
        // A plan may be carried out twice, and a statement made again.
        return sender.statements.dropFirst(max(0, earliest - 1)).firstIndex(of: number).map { $0 + 1 }
    }

    /// A frame begins: its size has been stated if the receiver asks for that.
    func checkSize(_ header: FrameHeader, _ monitor: SenderMonitor) {
        guard monitor.hasReadHello, monitor.wantsInfo, let info = monitor.info else { return }
        check(.sizeIsStated, info.size == header.bufferSize, "a frame of \(header.bufferSize) after \(info)")
    }

    /// A receiver that asked knows what is stated now.
    func checkInfo(_ monitor: SenderMonitor) {
        guard monitor.wantsInfo else { return }
        let sender = senders[monitor.sender]
        let latest = sender.statements.last.map { Statement.info($0).values } ?? [:]
        let isLatest = monitor.info?.values == latest
        check(.lastInfoIsTrue, isLatest, "sender \(sender.index): the last info is not what it states")
        let rate = sender.uploader.map { $0.machine.configuration.pacing.rateInMillihertz } ?? nil
        check(.lastInfoIsTrue, monitor.info?.frameRateInMillihertz == rate, "the last info has another rate")
    }

    // MARK: The receiver's side

    /// The receiver gets an info.
    func deliver(_ info: ControlRequest.SessionInfo, to receiver: SimReceiver) {
        let peer = sockets[receiver.socket].formerPeer
        guard peer >= 0, sockets[peer].monitor >= 0 else { return }
        let sender = senders[monitors[sockets[peer].monitor].sender]
        let place = place(of: info, sender, from: receiver.lastStatement)
        check(.infoIsWhole, place != nil, "connection \(receiver.index) gets a mix, or out of order: \(info)")
        receiver.lastStatement = place ?? 0
    }

    /// The sender reads an info.
    func infoRead(_ info: ControlRequest.SessionInfo, _ index: Int) {
        monitors[index].infosRead.append(info)
        guard hasOurReceiver(index) else { return }
        coverage.count(.infoOfReceiver)
        guard let number = Statement.number(of: info) else {
            return violate(.receiversInfoIsWhole, "what was never stated: \(info)")
        }
        let socket = sockets[monitors[index].socket].formerPeer
        let statements = receivers.last { $0.socket == socket }?.statements ?? []
        let place = statements.dropFirst(monitors[index].statementsRead).firstIndex(of: number)
        check(.receiversInfoIsWhole, place != nil, "statement \(number) was not made on this connection, or earlier")
        monitors[index].statementsRead = (place ?? 0) + 1
    }

    /// The sender's program is told what its receiver states.
    func told(_ info: ControlRequest.SessionInfo, _ sender: SimSender) {
        guard info != ControlRequest.SessionInfo() else { return }
        let monitor = sender.socket >= 0 ? sockets[sender.socket].monitor : -1
        // Several may have been read together; each is told in its turn.
        let next =
            monitor >= 0 && !monitors[monitor].infosRead.isEmpty ? monitors[monitor].infosRead.removeFirst() : nil
        check(.receiversInfoIsWhole, next == info, "sender \(sender.index) is told what its receiver did not state")
    }
}
