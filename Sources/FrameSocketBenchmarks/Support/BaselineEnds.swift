import CBaseline

/// Owns one end of the baseline's connections: all senders of a process, or the receiver.
///
/// - Note: `@unchecked Sendable` holds because one side of one case uses it at a time.
@safe final class BaselineEnds: @unchecked Sendable {
    /// The size of a message: a frame of 50 kB and its header.
    private static let messageBytes = 50_107

    private let ends: OpaquePointer

    /// Connects senders.
    init(connecting count: Int, to path: String) throws {
        guard let ends = unsafe baseline_ends_connect(path, Int32(count), Self.messageBytes) else {
            throw BaselineFailure()
        }
        unsafe self.ends = unsafe ends
    }

    /// Waits until as many senders have connected.
    init(accepting count: Int, from listener: Int32) throws {
        guard let ends = unsafe baseline_ends_accept(listener, Int32(count), Self.messageBytes) else {
            throw BaselineFailure()
        }
        unsafe self.ends = unsafe ends
    }

    deinit {
        unsafe baseline_ends_destroy(ends)
    }

    /// Sends as many frames from each.
    func send(_ frames: Int) throws {
        guard unsafe baseline_ends_send(ends, Int32(frames)) == 0 else { throw BaselineFailure() }
    }

    /// Receives as many frames from each, and returns what fraction of them the slowest had sent when the fastest was
    /// done.
    func receive(_ frames: Int) throws -> Double {
        let fairness = unsafe baseline_ends_receive(ends, Int32(frames))
        guard fairness >= 0 else { throw BaselineFailure() }
        return fairness
    }
}
