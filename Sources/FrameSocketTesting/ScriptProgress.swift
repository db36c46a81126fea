/// The sockets of one run of a script, and what it has read.
actor ScriptProgress {
    private var listener: PeerSocket?
    private var connection: PeerSocket?
    private var reader: PeerMessageReader?
    /// The socket that the script was given, which only a step closes.
    private let given: PeerSocket?

    private(set) var transcript = ScriptedPeer.Transcript()

    init(_ given: PeerSocket?) {
        self.given = given
        // It listens, or is connected: the first step tells which.
        (listener, connection) = (given, given)
        reader = given.map { PeerMessageReader($0) }
    }

    func perform(_ action: ScriptAction) async throws(PeerError) {
        switch action {
        case .connect(let path): use(try await .connectedWhenListening(at: path))
        case .connectToPort(let port): use(try .connecting(toPort: port))
        case .listen(let path, let backlog): listener = try .listening(at: path, backlog: backlog)
        case .accept:
            guard let listener else {
                throw PeerError(.misuse, "the script does not listen: put .listen before .accept")
            }
            use(try await listener.accepted())
        case .write(let bytes, let chunk, let interval):
            try await connected().write(bytes, chunk: chunk, every: interval)
        case .writePassing(let bytes, let descriptors):
            try await connected().write(bytes, passing: descriptors)
        case .flood(let bytes, let limit):
            transcript.floodedBytes += try await connected().flood(bytes, upTo: limit)
        case .wait(let cue): try await cue.wait()
        case .give(let cue): cue.give()
        case .pause(let duration): try await PeerSocket.pause(for: duration)
        case .waitForEnd: try await connected().otherEndEnded()
        case .read, .readToEnd, .expect: try await read(action)
        case .finishWriting: try connected().finishWriting()
        case .reset:
            try connected().reset()
            (connection, reader) = (nil, nil)
        case .close:
            connection?.close()
            (connection, reader) = (nil, nil)
        }
    }

    private func read(_ action: ScriptAction) async throws(PeerError) {
        _ = try connected()
        guard let reader else { return }
        switch action {
        case .read(let count):
            let count = max(0, count)
            let bytes = try await reader.bytes(count)
            transcript.bytes += bytes
            guard bytes.count == count else {
                throw PeerError(.ended, "the program ended after \(bytes.count) of \(count) bytes")
            }
        case .readToEnd:
            transcript.bytes += try await reader.bytes(.max)
        case .expect(let expected, let condition):
            guard let message = try await reader.next() else {
                throw PeerError(.ended, "the program ended, but \(expected) was expected")
            }
            transcript.messages.append(message)
            guard condition(message) else {
                throw PeerError(.unexpected, "expected \(expected), received: \(message.header)")
            }
        default: break
        }
    }

    /// Closes what the script opened.
    func close() {
        closeConnection()
        if listener !== given { listener?.close() }
        listener = nil
    }

    private func closeConnection() {
        if connection !== given { connection?.close() }
        (connection, reader) = (nil, nil)
    }

    private func use(_ socket: PeerSocket) {
        closeConnection()
        connection = socket
        reader = PeerMessageReader(socket)
    }

    private func connected() throws(PeerError) -> PeerSocket {
        guard let connection else {
            throw PeerError(.misuse, "the script has no connection: put .connect, or .listen and .accept, before this")
        }
        return connection
    }
}
