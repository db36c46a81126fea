internal import FrameTransport

/// A signal that one task gives once and others wait for, for example between a test and the script of its peer.
public final class Cue: Sendable, CustomStringConvertible {
    /// What the cue means, for error messages.
    public let description: String

    private let latch = Latch<Void>()

    /// Creates a cue that nobody has given yet.
    public init(_ description: String = "cue") {
        self.description = description
    }

    /// Whether the cue has been given.
    public var isGiven: Bool { latch.value != nil }

    /// Lets everybody continue who waits for the cue, now or later.
    public func give() { latch.set(()) }

    /// Waits until the cue is given.
    ///
    /// - Throws: `cancelled` if the calling task is cancelled first.
    public func wait() async throws(PeerError) {
        do {
            try await latch.value()
        } catch {
            throw PeerError(.cancelled, "waiting for '\(description)' was cancelled")
        }
    }
}
