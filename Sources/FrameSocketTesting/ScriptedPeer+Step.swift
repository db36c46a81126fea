extension ScriptedPeer {
    /// One action of a peer.
    public struct Step: Sendable, CustomStringConvertible {
        /// What it does, for error messages and for the names of test cases.
        public let description: String

        let action: ScriptAction

        private init(_ description: String, _ action: ScriptAction) {
            (self.description, self.action) = (description, action)
        }

        // MARK: Connecting

        /// Connects to a server, once one listens at the path.
        public static func connect(to path: String) -> Step {
            Step("connect to \(path)", .connect(path))
        }

        /// Connects to a port of this machine.
        public static func connect(toPort port: UInt16) -> Step {
            Step("connect to port \(port)", .connectToPort(port))
        }

        /// Listens at a path, and leaves the file there at the end, as a server that crashes does.
        public static func listen(at path: String, backlog: Int32 = 16) -> Step {
            Step("listen at \(path)", .listen(path, backlog))
        }

        /// Waits for a client, and continues on the connection to it; the script's previous connection is closed.
        public static let accept = Step("accept", .accept)

        // MARK: Writing

        /// Writes bytes, at most `chunk` in one system call, with an interval between two calls if one is given.
        public static func write(_ bytes: [UInt8], chunk: Int = .max, every interval: Duration? = nil) -> Step {
            Step("write \(bytes.count) bytes\(pieces(chunk, interval))", .write(bytes, chunk, interval))
        }

        /// Writes a message, such as ``PeerMessage/frame(_:width:height:orientation:timestamp:sequence:)``.
        public static func write(_ message: PeerMessage, chunk: Int = .max, every interval: Duration? = nil) -> Step {
            Step(
                "write '\(message.startLine)' and \(message.body.count) bytes\(pieces(chunk, interval))",
                .write(message.bytes, chunk, interval)
            )
        }

        /// Writes what a sender wrote, up to the end of the stream.
        public static func write(_ stream: RecordedStream, chunk: Int = .max, every interval: Duration? = nil) -> Step {
            Step("write the stream \(stream)\(pieces(chunk, interval))", .write(stream.bytes, chunk, interval))
        }

        /// Writes bytes, and passes descriptors with the first one: see ``PeerSocket/write(_:passing:)``.
        ///
        /// The descriptors must be open when the step is taken, and stay open.
        public static func write(_ bytes: [UInt8], passing descriptors: [Int32]) -> Step {
            let description = "write \(bytes.count) bytes, passing \(descriptors.count) descriptors"
            return Step(description, .writePassing(bytes, descriptors))
        }

        private static func pieces(_ chunk: Int, _ interval: Duration?) -> String {
            (chunk == .max ? "" : ", \(chunk) at once") + (interval.map { ", every \($0)" } ?? "")
        }

        /// Writes the bytes repeatedly, until the program has gone or `limit` bytes have been written.
        public static func flood(_ bytes: [UInt8], upTo limit: Int = .max) -> Step {
            Step("flood with \(bytes.count) bytes", .flood(bytes, limit))
        }

        // MARK: Waiting

        /// Stalls, without reading or writing, until the cue is given.
        public static func wait(for cue: Cue) -> Step {
            Step("wait for '\(cue)'", .wait(cue))
        }

        /// Gives a cue, for the test to wait for.
        public static func give(_ cue: Cue) -> Step {
            Step("give '\(cue)'", .give(cue))
        }

        /// Stalls for a time.
        public static func pause(for duration: Duration) -> Step {
            Step("pause for \(duration)", .pause(duration))
        }

        /// Stalls, without reading or writing, until the program has finished writing or has closed.
        public static let waitForEnd = Step("wait for the program's end", .waitForEnd)

        // MARK: Reading

        /// Reads `count` bytes into the transcript; an earlier end is an error.
        public static func read(_ count: Int) -> Step {
            Step("read \(count) bytes", .read(count))
        }

        /// Reads everything into the transcript, until the program ends.
        public static let readToEnd = Step("read to the end", .readToEnd)

        /// Reads the next message or request, and fails unless it meets a condition; in the error, `description` says
        /// what was expected.
        public static func expect(
            _ description: String,
            where condition: @escaping @Sendable (PeerMessage) -> Bool
        ) -> Step {
            Step("expect \(description)", .expect(description, condition))
        }

        /// Reads the next message, and fails unless it is a frame.
        public static let expectFrame = expect("a frame") { $0.isFrame }

        /// Reads the next request, and fails unless it has this name, such as `hello` or `pause`.
        public static func expectRequest(_ name: String) -> Step {
            expect("the request '\(name)'") { $0.requestName == name }
        }

        // MARK: Ending

        /// Finishes writing, and continues reading.
        public static let finishWriting = Step("finish writing", .finishWriting)

        /// Resets the connection, as far as the system allows it: see ``PeerSocket/reset()``.
        public static let reset = Step("reset", .reset)

        /// Closes the connection; the next step may open another one.
        public static let close = Step("close", .close)
    }
}

/// What a step does.
enum ScriptAction: Sendable {
    case connect(String)
    case connectToPort(UInt16)
    case listen(String, Int32)
    case accept
    case write([UInt8], Int, Duration?)
    case writePassing([UInt8], [Int32])
    case flood([UInt8], Int)
    case wait(Cue)
    case give(Cue)
    case pause(Duration)
    case waitForEnd
    case read(Int)
    case readToEnd
    case expect(String, @Sendable (PeerMessage) -> Bool)
    case finishWriting
    case reset
    case close
}
