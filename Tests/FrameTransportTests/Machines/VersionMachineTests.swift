import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// What a side does whose peer must have a version, without sockets.
@Suite(.tags(.computes)) struct VersionMachineTests {
    private func status(_ version: Int) -> [UInt8] { SenderStatus(state: .live, version: version).encoded() }

    private func rig(_ minimum: Int, _ change: (inout ReceiverMachine.Configuration) -> Void = { _ in }) -> ReceiverRig
    {
        ReceiverRig {
            $0.minimumVersion = minimum
            change(&$0)
        }
    }

    private func requests(_ rig: ReceiverRig) -> [String] {
        String(decoding: rig.written, as: UTF8.self).split(separator: "\r\n").filter { $0.hasPrefix("POST") }
            .map { String($0.dropFirst(6).prefix { $0 != " " }) }
    }

    // MARK: The receiver

    /// Shows P331.
    @Test(arguments: [1, 2, 9_999]) func `frames before a version that is accepted are kept, and none is lost`(
        minimum: Int
    ) {
        let rig = rig(minimum)
        #expect(requests(rig) == ["hello"] && !rig.isPresented)
        rig.room = 1
        for seed in 1...3 { rig.arrive(message(body(seed, count: 300))) }
        #expect(!rig.isPresented && rig.frames.count == 3 && rig.reason == nil)
        rig.arrive(status(minimum))
        #expect(rig.isPresented && rig.frames.map(\.bytes) == (1...3).map { body($0, count: 300) })
        #expect(rig.discarded == nil && rig.statuses.map(\.version) == [minimum])
        // From now on the deadlines are the usual ones: silence has none.
        #expect(rig.deadline == nil && requests(rig) == ["hello"])
        rig.arrive([], end: true)
        #expect(rig.reason == .closedByPeer(.stoppedByUser))
    }

    /// Shows P331.
    @Test(arguments: [0, -1, Int.min]) func `a minimum below 1 asks for nothing`(minimum: Int) {
        let rig = rig(minimum)
        #expect(rig.isPresented && rig.written.isEmpty)
        rig.arrive(status(1))
        #expect(rig.reason == nil && !rig.hasShutDownSending)
    }

    /// Shows P331.
    @Test(arguments: [2, 9_999, 10_000, Int.max]) func `a lower version is refused, and nothing delivered`(minimum: Int)
    {
        let rig = rig(minimum)
        rig.arrive(message(body(1, count: 300)) + status(min(minimum, 10_000) - 1 - (minimum > 9_999 ? 9_000 : 0)))
        #expect(rig.isPresented && rig.frames.isEmpty && rig.statuses.isEmpty)
        #expect(requests(rig) == ["hello", "stop"] && rig.hasShutDownSending)
        #expect(String(decoding: rig.written, as: UTF8.self).contains("Finish-Reason: 10004"))
        rig.arrive(message(body(2, count: 300)), end: true)
        #expect(rig.frames.isEmpty && rig.reason?.finishReason == .versionMismatch)
        #expect(rig.reason?.error == rig.discarded && rig.discarded?.code == .versionMismatch)
    }

    /// Shows P331.
    @Test func `a sender that states no version is refused at its end, at the deadline, and with too much`() {
        let atTheEnd = rig(1)
        atTheEnd.arrive(message(body(1, count: 300)), end: true)
        let late = rig(1)
        late.arrive(message(body(1, count: 300)))
        late.now = late.deadline ?? 0
        late.machine.deadlinePassed(late)
        late.arrive([], end: true)
        let inMemory = rig(1) {
            ($0.allowance, $0.largestGrant) = (2_000, 100_000)
        }
        inMemory.arrive(message(body(1, count: 5_000)))
        inMemory.now = inMemory.deadline ?? 0
        inMemory.machine.deadlinePassed(inMemory)
        inMemory.arrive([], end: true)
        let large = rig(1) { $0.allowance = 2_000 }
        large.arrive(message(body(1, count: 600)) + message(body(2, count: 600)))
        large.arrive([], end: true)
        let many = rig(1)
        for _ in 0..<50 { many.arrive(Array(repeatElement(message([]), count: 100).joined())) }
        many.resumeToTheEnd()
        many.arrive([], end: true)
        many.resumeToTheEnd()
        for rig in [atTheEnd, late, inMemory, large, many] {
            #expect(rig.frames.isEmpty && rig.isPresented && rig.reason?.error?.code == .versionMismatch)
        }
    }

    /// Shows P331.
    @Test func `a version that has arrived before the deadline counts`() {
        let rig = rig(1)
        rig.now = (rig.deadline ?? 0) + 1
        rig.input = message(body(1, count: 300)) + status(1)
        rig.machine.becameReady(.readable, rig)
        #expect(rig.isPresented && rig.frames.count == 1 && rig.reason == nil && !rig.hasShutDownSending)
        // One that falls later ends the connection.
        let other = self.rig(2)
        other.arrive(status(2) + message(body(1, count: 300)) + status(1))
        #expect(other.isPresented && other.hasShutDownSending && other.discarded?.code == .versionMismatch)
    }

    // MARK: The sender

    private func hello(_ version: Int) -> ControlRequest { .hello(ControlRequest.Hello(version: version)) }

    /// Shows P332.
    @Test func `a receiver must say hello before it gets a frame`() throws {
        let bench = SenderBench.open { $0.minimumVersion = 2 }
        #expect(bench.states.last == .connected && bench.terms.last?.demand == [])
        #expect(throws: TransportError.self) {
            try bench.lane.submit(FrameMessage(body(1, count: 300), sequence: 1), ticket: 1)
        }
        bench.receive(hello(2))
        #expect(bench.terms.last?.demand == .frames)
        try bench.lane.submit(FrameMessage(body(1, count: 300), sequence: 1), ticket: 1)
        #expect(bench.ends.isEmpty)
    }

    /// Shows P332.
    @Test(arguments: [1, 2, Int.max]) func `a receiver of a lower version is told, and the end is final`(version: Int) {
        let minimum = version == .max ? version : version + 1
        let bench = SenderBench.open { $0.minimumVersion = minimum }
        bench.receive(hello(min(version, 9_999)))
        let last = Array("HTTP/1.1 200 OK\r\n".utf8) + bench.output.dropFirst(17)
        #expect(last == SenderStatus(state: .stopped(.versionMismatch)).encoded())
        bench.input.append(.end)
        bench.change { $0.becameReady(readable: true, writable: false, bench) }
        #expect(bench.ends.map(\.finishReason) == [.versionMismatch] && bench.connects == 1)
    }

    /// Shows P332.
    @Test func `a receiver that says no hello in time is left without a word`() {
        let bench = SenderBench.open { $0.minimumVersion = 1 }
        bench.now = bench.deadline ?? 0
        bench.change { $0.deadlinePassed(bench) }
        #expect(bench.output.isEmpty)
        bench.input.append(.end)
        bench.change { $0.becameReady(readable: true, writable: false, bench) }
        #expect(bench.ends.map(\.finishReason) == [.versionMismatch])
        // One that has said it may take its time.
        let other = SenderBench.open { $0.minimumVersion = 1 }
        other.receive(hello(1))
        #expect(other.deadline == nil)
    }
}
