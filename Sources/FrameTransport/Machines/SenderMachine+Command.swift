package import FrameWire

extension SenderMachine {
    /// What a machine wants done.
    package enum Command: Sendable, Hashable {
        /// Make a socket and connect it.
        ///
        /// Report `connected`, `connectFailed` or `endpointIsUnusable`; nothing while the connection is being made.
        case connect
        /// Ask the system what became of the connection that was being made; report `connected` or `connectFailed`.
        case checkConnected
        /// Ask the system who is at the other end; report `peerAdmitted`, `peerRefused` or `peerIsThisSide`.
        case checkPeer
        /// Write this side's token from `offset` on; report `didWriteToken` or `tokenWriteFailed`.
        case writeToken(from: Int)
        /// Read at most `limit` bytes; report `didRead`, `readWouldBlock`, `reachedEndOfStream` or `readFailed`.
        case read(limit: Int)
        /// Say that nothing more will be written.
        case shutdownSending
        /// Report, or no longer, when there is room to write.
        case watchRoom(Bool)
        /// Report `deadlinePassed` at this time, and at no earlier one; nil for never.
        case setDeadline(UInt64?)
        /// Close the socket, if there is one, and take it from the lane, whose frame fails with the error.
        case closeSocket(TransportError)
        /// Do something to the lane.
        case lane(LaneOrder)
        /// Tell somebody who waits for the connection to open that it has; or, with an error, that it will not.
        case settle(waiter: Int, TransportError?)
        /// Tell others.
        case tell(News)
        /// Report `continueTurn` after others have had theirs.
        case continueLater
    }

    /// What is to be done to the lane.
    package enum LaneOrder: Sendable, Hashable {
        /// Hand over the socket.
        case open
        /// ``SendLaneMachine/setWants(_:answering:)``, then write; report `laneProgressed`.
        case setWants(ControlWants, answer: SenderStatus)
        /// ``SendLaneMachine/setPaused(_:answering:)``, then write; report `laneProgressed`.
        case setPaused(Bool, answer: SenderStatus)
        /// ``SendLaneMachine/send(_:)``, then write; report `laneProgressed`.
        case answer(SenderStatus)
        /// ``SendLaneMachine/hasRoom()``, then write; report `laneProgressed`.
        case resume
        /// ``SendLaneMachine/end(last:withdrawing:)``, then write; report `laneProgressed`.
        case end(last: SenderStatus?, withdrawing: TransportError?)
        /// Report `laneProgressed`.
        case report
    }

    /// What others are told.
    package enum News: Sendable, Hashable {
        case state(SocketConnection.State)
        case event(SocketConnection.Event)
        case terms(ReceiverTerms)
        /// How the receiver introduced itself; nil for a new one, which has not.
        case hello(ControlHello?)
        case request(ControlRequest)
        /// A request meant nothing.
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
