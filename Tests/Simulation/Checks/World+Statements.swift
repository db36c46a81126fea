internal import FrameTransport
internal import FrameWire

/// What both sides state about themselves.
extension World {
    // MARK: The sender's side

    /// The program states something else.
    func state(_ number: Int, of sender: SimSender) {
        sender.statements.append(number)
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
        guard let place = place(of: info, senders[monitor.sender]) else {
            return violate(.infoIsWhole, "sender \(monitor.sender) writes what it never stated: \(info)")
        }
        check(.infoIsWhole, place >= monitor.statementPlace, "an info of an earlier connection, or out of order")
        monitors[index].statementPlace = place
        monitors[index].info = info
    }

    /// Returns how many statements a sender had made with this one; nil if it is none of them.
    private func place(of info: ControlRequest.SessionInfo, _ sender: SimSender) -> Int? {
        guard let number = Statement.number(of: info) else { return nil }
        if number == 0 { return 0 }
        return sender.statements.firstIndex(of: number).map { $0 + 1 }
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
        let isLatest = monitor.info != nil && monitor.statementPlace == sender.statements.count
        check(.lastInfoIsTrue, isLatest, "sender \(sender.index): the last info is not what it states")
        let rate = sender.uploader.map { $0.machine.configuration.pacing.rateInMillihertz } ?? nil
        check(.lastInfoIsTrue, monitor.info?.frameRateInMillihertz == rate, "the last info has another rate")
    }

    // MARK: The receiver's side

    /// The receiver gets an info.
    func deliver(_ info: ControlRequest.SessionInfo, to receiver: SimReceiver) {
        let number = Statement.number(of: info)
        check(.infoIsWhole, number.map { $0 == 0 || $0 >= receiver.lastStatement } ?? false, "a mix, or out of order")
        receiver.lastStatement = number ?? 0
    }

    /// The sender reads an info.
    func infoRead(_ info: ControlRequest.SessionInfo, _ index: Int) {
        monitors[index].infoRead = info
        guard hasOurReceiver(index) else { return }
        coverage.count(.infoOfReceiver)
        guard let number = Statement.number(of: info) else {
            return violate(.receiversInfoIsWhole, "what was never stated: \(info)")
        }
        let socket = sockets[monitors[index].socket].formerPeer
        let isItsOwn = receivers.contains { $0.socket == socket && $0.statements.contains(number) }
        check(.receiversInfoIsWhole, isItsOwn, "statement \(number) was not made on this connection")
        check(.receiversInfoIsWhole, number > monitors[index].lastStatementRead, "statements out of order")
        monitors[index].lastStatementRead = number
    }

    /// The sender's program is told what its receiver states.
    func told(_ info: ControlRequest.SessionInfo, _ sender: SimSender) {
        guard info != ControlRequest.SessionInfo() else { return }
        let monitor = sender.socket >= 0 ? sockets[sender.socket].monitor : -1
        let isRead = monitor >= 0 && monitors[monitor].infoRead == info
        check(.receiversInfoIsWhole, isRead, "sender \(sender.index) is told what its receiver did not state")
    }
}
