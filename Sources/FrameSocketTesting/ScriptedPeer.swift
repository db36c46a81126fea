/// A peer of the program under test, a sender or a receiver, that does what its script says, and misbehaves where the
/// script does.
///
/// ```swift
/// let enough = Cue()
/// let peer = ScriptedPeer(
///     .connect(to: path),
///     .write(.frame(jpeg, width: 562, height: 1218), chunk: 1),
///     .wait(for: enough),
///     .write(PeerMessage.frame(jpeg, width: 562, height: 1218).bytesCutInBody),
///     .close
/// )
/// async let transcript = peer.run()
/// ```
///
/// Every run is a new one, with sockets of its own; nothing is shared between two.
public struct ScriptedPeer: Sendable {
    /// What a run has read.
    public struct Transcript: Sendable, Hashable {
        /// The bytes of ``Step/read(_:)`` and ``Step/readToEnd``, one behind the other.
        public var bytes: [UInt8] = []
        /// The messages of ``Step/expect(_:where:)`` and of the steps like it.
        public var messages: [PeerMessage] = []
        /// How many bytes ``Step/flood(_:upTo:)`` has written.
        public var floodedBytes = 0
    }

    private let socket: PeerSocket?
    private let steps: [Step]

    /// Creates a peer of a list of steps.
    ///
    /// - Parameters:
    ///   - socket: A socket that is connected, or that listens, for a script that begins there; it is left open.
    ///   - steps: The steps, in order.
    public init(on socket: PeerSocket? = nil, _ steps: [Step]) {
        (self.socket, self.steps) = (socket, steps)
    }

    /// Creates a peer of some steps.
    public init(on socket: PeerSocket? = nil, _ steps: Step...) {
        self.init(on: socket, steps)
    }

    /// Takes the steps, closes what they opened, and returns what was read.
    ///
    /// - Parameter limit: How long the whole script may take. It is no part of what is tested: it ends a script that
    ///   would hang.
    /// - Returns: What was read.
    /// - Throws: `timedOut`, `cancelled` if the task is, or what the step threw; each names the step.
    public func run(within limit: Duration = .seconds(60)) async throws(PeerError) -> Transcript {
        let progress = ScriptProgress(socket)
        let work = Task { () async -> Result<Transcript, PeerError> in
            do throws(PeerError) {
                return .success(try await perform(progress))
            } catch {
                return .failure(error)
            }
        }
        let isLate = Cue()
        let timer = Task {
            guard (try? await Task.sleep(for: min(limit, .seconds(1 << 30)))) != nil else { return }
            isLate.give()
            work.cancel()
        }
        let result = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        timer.cancel()
        do {
            return try result.get()
        } catch {
            guard error.code == .cancelled, isLate.isGiven, !Task.isCancelled else { throw error }
            throw PeerError(.timedOut, "\(error.message): the script took more than \(limit)")
        }
    }

    private func perform(_ progress: ScriptProgress) async throws(PeerError) -> Transcript {
        for (index, step) in steps.enumerated() {
            do {
                try await progress.perform(step.action)
            } catch {
                await progress.close()
                throw error.at("step \(index + 1) (\(step))")
            }
        }
        await progress.close()
        return await progress.transcript
    }
}
