import CBaseline
import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The receiving end of the lane in plain C.
///
/// - Note: `@unchecked Sendable` holds because `connect()` comes before anything else, and one run follows another.
@safe final class PlainLane: LaneReceiver, @unchecked Sendable {
    static let name = "plain"

    private let scenario: LaneScenario
    private let sockets: (sender: Int32, receiver: Int32)
    private var receiver: OpaquePointer?

    init(_ scenario: LaneScenario) throws {
        self.scenario = scenario
        var ends: [Int32] = [-1, -1]
        guard unsafe baseline_make_pair(&ends, 1024) == 0 else { throw BaselineFailure() }
        sockets = (ends[0], ends[1])
    }

    deinit {
        if let receiver = unsafe receiver { unsafe baseline_lane_receiver_destroy(receiver) }
        close(sockets.receiver)
    }

    let path = "-"

    var senderSocket: Int32? { sockets.sender }

    func connect() async throws {
        unsafe receiver = baseline_lane_receiver_create(sockets.receiver, scenario.format.shape)
        guard unsafe receiver != nil else { throw BaselineFailure() }
    }

    func receive(_ frames: Int) async throws -> [Int64] {
        var latencies = [Int64](repeating: 0, count: frames)
        let status = unsafe baseline_lane_receive(
            receiver,
            Int32(scenario.bytesReadPerRow),
            Int32(scenario.mode.changedPermille),
            Int32(frames),
            &latencies
        )
        guard status == 0 else { throw BaselineFailure() }
        return latencies
    }

    /// The sending end, whose socket is the given descriptor.
    ///
    /// - Note: `@unchecked Sendable` holds because one run follows another.
    @safe final class Sender: LaneSender, @unchecked Sendable {
        private let mode: LaneScenario.Mode
        private let sender: OpaquePointer

        init(_ scenario: LaneScenario, path: String) async throws {
            let shape = scenario.format.shape
            guard let sender = unsafe baseline_lane_sender_create(ChildProcess.givenDescriptor, shape) else {
                throw BaselineFailure()
            }
            unsafe self.sender = sender
            mode = scenario.mode
        }

        deinit {
            unsafe baseline_lane_sender_destroy(sender)
        }

        func send(_ frames: Int, interval: UInt64) async throws -> Int64 {
            let mode =
                switch mode {
                case .inPlace: BASELINE_LANE_IN_PLACE
                case .drawn: BASELINE_LANE_DRAWN
                case .copied, .typing: BASELINE_LANE_COPIED
                }
            let permille = Int32(self.mode.changedPermille)
            let start = unsafe baseline_lane_send(sender, mode, permille, Int32(frames), Int64(interval))
            guard start >= 0 else { throw BaselineFailure() }
            return start
        }

        func close() async throws {}
    }
}
