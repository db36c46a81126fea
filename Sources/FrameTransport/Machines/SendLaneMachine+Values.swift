extension SendLaneMachine {
    /// The progress of a lane.
    package enum Progress: Sendable, Hashable {
        /// Everything that was accepted has been written.
        case sent
        /// As `sent`, and nothing more is accepted: the last message has been written.
        case ended
        /// The socket is full; the count grows as the peer reads bytes.
        case waiting(bytesWritten: Int)
        /// A write has failed.
        case broken(Errno)

        /// Whether everything that was accepted has been written.
        var isWritten: Bool { self == .sent || self == .ended }
    }

    /// The outcome of a frame; every accepted frame has at most one.
    package struct Settlement: Sendable, Hashable {
        /// The frame's ticket, as it was submitted.
        package let ticket: Int

        /// The reason that the frame was not sent; nil if the system has accepted all of it.
        package let error: TransportError?

        init(ticket: Int, error: TransportError? = nil) {
            (self.ticket, self.error) = (ticket, error)
        }
    }

    /// Bytes to write in one call.
    ///
    /// The memory belongs to the machine, and is valid until the next call of one of its methods.
    @safe package struct Write {
        package let runs: MessageWriter.Runs

        /// The memory whose descriptor is passed with the first byte; nil for none.
        package let passed: SharedMemory?

        /// The new size for the socket's send buffer; nil to leave it unchanged.
        package let sendBuffer: Int?

        init(_ runs: MessageWriter.Runs, passing passed: SharedMemory?, sendBuffer: Int?) {
            unsafe self.runs = runs
            self.passed = passed
            self.sendBuffer = sendBuffer
        }

        /// The number of bytes in all runs.
        package var byteCount: Int { unsafe runs.header.count + runs.body.count + runs.padding.count }
    }
}

extension SendLaneMachine {
    static let declined = TransportError(.notWanted, "the receiver has declined frames in shared memory")
    static let ended = TransportError(.closed, "the connection that the frame was made for has ended")
    static let sharedByAnother = TransportError(.sharedMemory, "another uploader shares memory on this connection")
    static let silent = TransportError(.notWanted, "this side offers no audio")
}
