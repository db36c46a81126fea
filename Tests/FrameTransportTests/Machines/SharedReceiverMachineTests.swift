import FrameSocketTesting
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameTransport

/// What the receiving end of a connection decides about shared memory, without any socket.
@Suite(.tags(.computes)) struct SharedReceiverMachineTests {
    private func rig(_ change: (inout ReceiverMachine.Configuration) -> Void = { _ in }) -> ReceiverRig {
        ReceiverRig {
            $0.acceptsSharedMemory = true
            change(&$0)
        }
    }

    private func announcement() -> [UInt8] { SharedFrameHeader.Buffer(index: 0, byteCount: 4096).encoded() }

    private func frame(_ index: Int = 0, changedRows: Range<Int>? = nil) -> [UInt8] {
        SharedFrameHeader(
            buffer: index,
            format: .bgra,
            info: FrameInfo(bufferSize: BufferSize(width: 64, height: 16)),
            planes: [.init(offset: 0, bytesPerRow: 256)],
            changedRows: changedRows
        ).encoded()
    }

    private var jpeg: [UInt8] { message(body(1, count: 10)) }

    private func hello(_ wants: ControlRequest.Wants = .frames, sharedMemory: Int?) -> [UInt8] {
        ControlRequest.hello(ControlRequest.Hello(wants: wants, sharedMemory: sharedMemory, wantsInfo: true)).encoded()
    }

    // MARK: What the sender is told

    @Test func `the program's hello says what the receiver accepts, whatever the program says`() {
        let accepting = rig { $0.hello = ControlRequest.Hello(wants: .audio) }
        #expect(accepting.written == hello(.audio, sharedMemory: 1))
        let refusing = ReceiverRig { $0.hello = ControlRequest.Hello(sharedMemory: 1) }
        #expect(refusing.written == hello(sharedMemory: nil))
    }

    // MARK: Frames

    /// Shows P96.
    @Test func `frames of both kinds are numbered together, and those that are not delivered have no number`() {
        let rig = rig()
        rig.arrive(announcement() + jpeg + frame(), passing: 1)
        rig.machine.bufferReleased(0, rig)
        rig.machine.send(.hello(ControlRequest.Hello(wants: .audio)), rig)
        // Released at once.
        rig.arrive(frame() + frame() + jpeg)
        #expect(rig.sharedFrames.count == 1)
        rig.machine.send(.hello(ControlRequest.Hello()), rig)
        rig.arrive(frame())
        rig.machine.send(.decline, rig)
        rig.arrive(frame() + jpeg)
        #expect(rig.frames.map(\.index) == [0, 3] && rig.sharedFrames.map(\.frame.index) == [1, 2])
        #expect(rig.reason == nil)
    }

    /// Shows P117.
    @Test func `after a frame that was not wanted every row of the next one may have changed`() {
        let rig = rig()
        func take(_ rows: Range<Int>) {
            rig.arrive(frame(changedRows: rows))
            rig.machine.bufferReleased(0, rig)
        }
        rig.arrive(announcement() + frame(), passing: 1)
        rig.machine.bufferReleased(0, rig)
        take(0..<4)
        rig.machine.send(.hello(ControlRequest.Hello(wants: .audio)), rig)
        take(4..<8)
        rig.machine.send(.hello(ControlRequest.Hello()), rig)
        take(0..<0)
        take(2..<3)
        #expect(rig.sharedFrames.map(\.header.changedRows) == [nil, 0..<4, nil, 2..<3])
    }

    @Test func `nothing follows the close, not even what concerns requests queued before it`() {
        let rig = rig { $0.hello = ControlRequest.Hello(wants: .audio) }
        rig.isWritable = false
        rig.machine.send(.ping(1), rig)
        rig.isWritable = true
        rig.arrive(announcement() + frame() + frame(5), passing: 1)
        let code = rig.reason?.error?.code
        #expect(code == .sharedMemory && rig.callsAfterClose == 0)
    }

    // MARK: Errors

    /// Shows P261.
    @Test func `frames before a wrong descriptor are delivered, though they came in the same read`() {
        for (count, isLost) in [(2, false), (1, true), (4, true)] {
            let rig = rig()
            rig.arrive(jpeg + announcement() + jpeg, passing: count, losing: isLost)
            #expect(rig.reason?.error?.code == .sharedMemory && rig.frames.count == 1)
        }
        let rig = rig()
        rig.arrive(jpeg, passing: 1)
        #expect(rig.reason?.error?.code == .sharedMemory && rig.frames.count == 1)
    }

    // MARK: Deadlines

    @Test func `an announcement is a first message, after which a sender may be silent`() {
        let rig = rig { $0.limits.firstFrameTimeout = .seconds(1) }
        #expect(rig.deadline == rig.now + 1_000_000_000)
        rig.arrive(announcement(), passing: 1)
        #expect(rig.mapped.count == 1 && rig.deadline == nil)
    }
}
