package import FrameWire

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

    /// What is called with the outcome of a frame.
    package typealias Completion = @Sendable (Result<Void, TransportError>) -> Void

    /// An accepted frame that somebody waits for.
    struct Submission {
        let ticket: Int
        let completion: Completion
    }

    /// The outcome of a frame; every accepted frame has at most one.
    package struct Settlement: Sendable {
        /// The frame's ticket, as it was submitted.
        package let ticket: Int

        /// The reason that the frame was not sent; nil if the system has accepted all of it.
        package let error: TransportError?

        private let completion: Completion

        init(_ submission: Submission, _ error: TransportError?) {
            (ticket, completion, self.error) = (submission.ticket, submission.completion, error)
        }

        /// Tells the frame's sender.
        func tell() { completion(error.map { .failure($0) } ?? .success(())) }
    }

    /// What a receiver has said of what it takes.
    package struct Receiver: Sendable, Hashable {
        /// Its hello; nil if it sent none, as plain receivers do not.
        package var hello: ControlRequest.Hello?
        /// Whether it has requested a pause.
        package var isPaused = false
        /// Whether it takes no frames in shared memory for the rest of the connection.
        package var declinesSharedMemory = false

        /// Creates what is known of a receiver that has said nothing.
        package init(hello: ControlRequest.Hello? = nil) { self.hello = hello }

        /// What it wants; by default frames.
        package var wants: ControlRequest.Wants { hello?.wants ?? .frames }
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
    static let unconnected = TransportError(.closed, "no server is connected")
    static let declined = TransportError(.notWanted, "the receiver has declined frames in shared memory")
    static let ended = TransportError(.closed, "the connection that the frame was made for has ended")
    static let sharedByAnother = TransportError(.sharedMemory, "another uploader shares memory on this connection")
    static let silent = TransportError(.notWanted, "this side offers no audio")
}
