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
/// Every run starts over, with sockets of its own; two runs share nothing.
public struct ScriptedPeer: Sendable {
    /// What a run has read.
    public struct Transcript: Sendable, Hashable {
        /// The bytes of ``Step/read(_:)`` and ``Step/readToEnd``, one after another.
        public var bytes: [UInt8] = []
        /// The messages of ``Step/expect(_:where:)`` and similar steps.
        public var messages: [PeerMessage] = []
        /// The number of bytes that ``Step/flood(_:upTo:)`` has written.
        public var floodedBytes = 0
    }

    private let socket: PeerSocket?
    private let steps: [Step]

    /// Creates a peer from a list of steps.
    ///
    /// - Parameters:
    ///   - socket: A connected or listening socket on which the script begins; it is left open unless a step closes it. Nil for
    ///     none. What arrives on a connected one beyond the last step may have been read, and is lost for another script.
    ///   - steps: The steps, in order.
    public init(on socket: PeerSocket? = nil, _ steps: [Step]) {
        (self.socket, self.steps) = (socket, steps)
    }

    /// Creates a peer from its steps.
    public init(on socket: PeerSocket? = nil, _ steps: Step...) {
        self.init(on: socket, steps)
    }

    /// Performs the steps, closes what they opened, and returns what was read.
    ///
    /// - Parameter limit: The time allowed for the whole script. It is not part of the test: it only ends a script that
    ///   would hang.
    /// - Returns: What was read.
    /// - Throws: `timedOut`; `cancelled` if the calling task is cancelled; or the error of a step. Each names the step.
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
                try PeerSocket.checkCancellation()
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
