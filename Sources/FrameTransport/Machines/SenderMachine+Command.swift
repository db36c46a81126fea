package import FrameWire

extension SenderMachine {
    /// A command of the machine.
    package enum Command: Sendable, Hashable {
        /// Create a socket and connect it.
        ///
        /// Report `connected`, `connectFailed` or `endpointIsUnusable`; report nothing while the connection is being
        /// made.
        case connect
        /// Check the outcome of the pending connection; report `connected` or `connectFailed`.
        case checkConnected
        /// Check the peer; report `peerAdmitted`, `peerRefused` or `peerIsThisSide`.
        case checkPeer
        /// Write this side's token from `offset` on; report `didWriteToken` or `tokenWriteFailed`.
        case writeToken(from: Int)
        /// Read at most `limit` bytes; report `didRead`, `readWouldBlock`, `reachedEndOfStream` or `readFailed`.
        case read(limit: Int)
        /// Shut down sending.
        case shutdownSending
        /// Start or stop reporting when there is room to write.
        case watchRoom(Bool)
        /// Report `deadlinePassed` at this time, replacing an earlier deadline; nil for never.
        case setDeadline(UInt64?)
        /// Close the socket, if any, and take it from the lane, whose frame fails with the error.
        case closeSocket(TransportError)
        /// Give an order to the lane.
        case lane(LaneOrder)
        /// Tell a waiter that the connection has opened or, with an error, that it will not.
        case settle(waiter: Int, TransportError?)
        /// Publish news.
        case tell(News)
        /// Report `continueTurn` after other connections have had their turns.
        case continueLater
    }

    /// An order to the lane.
    package enum LaneOrder: Sendable, Hashable {
        /// Hand over the socket, to a receiver that wants this until it says otherwise.
        case open(connection: Int, wants: ControlRequest.Wants)
        /// ``SendLaneMachine/setWants(_:info:answering:)``, then write; report `laneProgressed`.
        case setWants(ControlRequest.Wants, info: Bool, answer: SenderStatus)
        /// ``SendLaneMachine/setPaused(_:answering:)``, then write; report `laneProgressed`.
        case setPaused(Bool, answer: SenderStatus)
        /// ``SendLaneMachine/send(_:)``, then write; report `laneProgressed`.
        case answer(SenderStatus)
        /// ``SendLaneMachine/declineShared()``, then write; report `laneProgressed`.
        case declineShared
        /// ``SendLaneMachine/hasRoom()``, then write; report `laneProgressed`.
        case resume
        /// ``SendLaneMachine/end(last:withdrawing:)``, then write; report `laneProgressed`.
        case end(last: SenderStatus?, withdrawing: TransportError?)
        /// Report `laneProgressed`.
        case report
    }

    /// News for others.
    package enum News: Sendable, Hashable {
        case state(SocketConnection.State)
        case terms(ReceiverTerms)
        /// The receiver's hello; nil for a new receiver, which has sent none.
        case hello(ControlRequest.Hello?)
        /// What the receiver states about itself; nothing for a new receiver.
        case info(ControlRequest.SessionInfo)
        case request(ControlRequest)
        /// A request was not understood.
        case skippedRequest
        /// The connection has ended for good.
        case ended(CloseReason)
    }

    /// Commands, first in, first out.
    struct CommandQueue: Sendable {
        private var commands: [Command] = []
        private var first = 0

        var count: Int { commands.count - first }

        mutating func append(_ command: Command) {
            commands.append(command)
        }

        mutating func popFirst() -> Command? {
            guard first < commands.count else { return nil }
            defer { first += 1 }
            let command = commands[first]
            if first + 1 == commands.count {
                commands.removeAll(keepingCapacity: true)
                first = -1
            }
            return command
        }
    }
}
