extension SendLaneMachine {
    /// How far a lane got.
    package enum Progress: Sendable, Hashable {
        /// Everything that was accepted has been written.
        case sent
        /// As `sent`, and nothing more is accepted: the last message is out.
        case ended
        /// The socket is full; the count grows as the peer takes bytes.
        case waiting(bytesWritten: Int)
        /// A write has failed.
        case broken(Errno)
    }

    /// What became of a frame; each accepted frame has at most one.
    package struct Settlement: Sendable, Hashable {
        /// The frame's ticket, as it was submitted.
        package let ticket: Int

        /// Why the frame was not sent; nil if the system has taken all of it.
        package let error: TransportError?

        init(ticket: Int, error: TransportError? = nil) {
            (self.ticket, self.error) = (ticket, error)
        }
    }

    /// Bytes to write in one call.
    ///
    /// The memory is the machine's, and valid until the next call of one of its methods.
    @safe package struct Write {
        package let runs: MessageWriter.Runs

        /// The size that the socket's send buffer should have, if it should change.
        package let sendBuffer: Int?

        init(_ runs: MessageWriter.Runs, sendBuffer: Int?) {
            unsafe self.runs = runs
            self.sendBuffer = sendBuffer
        }

        /// The number of bytes in all runs.
        package var byteCount: Int { unsafe runs.head.count + runs.body.count + runs.padding.count }
    }
}
