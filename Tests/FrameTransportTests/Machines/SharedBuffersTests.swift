import FrameWire
import Testing

@testable import FrameTransport

/// Which buffers are announced, held and released, without a connection.
@Suite struct SharedBuffersTests {
    private let memory = SharedFrameHeader.Buffer(index: 0, byteCount: 4096)

    private func frame(_ buffer: Int = 0) -> SharedFrameHeader {
        SharedFrameHeader(
            buffer: buffer,
            format: .bgra,
            info: FrameInfo(bufferSize: BufferSize(width: 64, height: 16)),
            planes: [.init(offset: 0, bytesPerRow: 256)]
        )
    }

    /// Buffers that are announced and mapped.
    private func buffers(_ count: Int) throws -> SharedBuffers {
        var buffers = SharedBuffers(isAccepting: true)
        for index in 0..<count {
            buffers.arrived(1, areLost: false)
            let header = SharedFrameHeader.Buffer(index: index, byteCount: 4096)
            let announcement = try buffers.announced(header)
            #expect(announcement == .map)
            buffers.mapped(header)
        }
        return buffers
    }

    private func requests(_ outbox: RequestOutbox) -> [String] {
        String(decoding: outbox.bytes, as: UTF8.self).split(separator: "\r\n").filter { $0.hasPrefix("POST") }
            .map { String($0.dropFirst(6).prefix { $0 != " " }) }
    }

    /// Shows P263.
    @Test func `a buffer is the receiver's from its frame until the release is queued`() throws {
        var (buffers, outbox) = (try buffers(2), RequestOutbox())
        let isDelivered = try buffers.frame(frame())
        #expect(isDelivered && buffers.heldCount == 1)
        #expect(throws: TransportError.self) { try buffers.frame(frame()) }
        buffers.arrived(1, areLost: false)
        #expect(throws: TransportError.self) { try buffers.announced(memory) }
        // The other one is the sender's still.
        buffers.released(1)
        let hasReleasedOther = buffers.queueRequests(in: &outbox)
        #expect(!hasReleasedOther)
        buffers.released(0)
        #expect(throws: TransportError.self) { try buffers.frame(frame()) }
        let hasReleased = buffers.queueRequests(in: &outbox)
        #expect(hasReleased && outbox.bytes == ControlRequest.encodedRelease(of: 0) && buffers.heldCount == 0)
        // Once.
        buffers.released(0)
        let hasReleasedAgain = buffers.queueRequests(in: &outbox)
        #expect(!hasReleasedAgain)
        let isDeliveredAgain = try buffers.frame(frame())
        #expect(isDeliveredAgain)
    }

    /// Shows P265.
    @Test func `declining is said once, forgets every buffer, and waits for room`() throws {
        var (buffers, outbox) = (try buffers(2), RequestOutbox())
        _ = try buffers.frame(frame())
        while outbox.add(.ping(1)) {}
        buffers.decline()
        let hasQueued = buffers.queueRequests(in: &outbox)
        #expect(!hasQueued && buffers.heldCount == 0 && buffers.terms == .declined)
        outbox.didWrite(outbox.bytes.count)
        for _ in 0..<2 {
            _ = buffers.queueRequests(in: &outbox)
            #expect(requests(outbox) == ["decline"])
        }
        // What the program still held goes back to nobody.
        buffers.released(0)
        _ = buffers.queueRequests(in: &outbox)
        #expect(requests(outbox) == ["decline"])
        let isDelivered = try buffers.frame(frame())
        #expect(!isDelivered)
        let announcement = try buffers.announced(memory)
        #expect(announcement == .drop)
    }

    // MARK: Descriptors

    /// Something that happens to a receiver; a true result of `announce` means that the descriptor is to be mapped.
    enum Step: Sendable {
        case arrive(Int, lost: Bool = false)
        case announce(SharedBuffers.Announcement)
        case other
        case end(inHeader: Bool)
    }

    /// Shows P95.
    @Test(
        arguments: [
            [.arrive(1), .announce(.map), .end(inHeader: false)],
            [.arrive(1), .other, .announce(.map), .other, .end(inHeader: true)],
            [.arrive(1), .end(inHeader: true), .end(inHeader: true), .announce(.map), .end(inHeader: false)],
            // The rest of a header in the same read as the descriptor of the next one.
            [.arrive(1), .end(inHeader: true), .arrive(1), .announce(.map), .announce(.map), .end(inHeader: false)],
            [.arrive(1), .end(inHeader: true), .arrive(1), .announce(.map), .end(inHeader: true), .announce(.map)],
            [.arrive(0, lost: true), .announce(.decline), .end(inHeader: false)],
            [.arrive(0, lost: true), .end(inHeader: true), .arrive(1), .announce(.decline), .announce(.map)],
        ] as [[Step]]
    )
    func `each announcement takes the descriptor that came for it`(steps: [Step]) throws {
        var buffers = SharedBuffers(isAccepting: true)
        for step in steps { try take(step, &buffers) }
    }

    @Test(
        arguments: [
            [.arrive(1), .end(inHeader: false)],
            [.arrive(1), .other, .end(inHeader: false)],
            [.arrive(1), .end(inHeader: true), .other],
            [.arrive(1), .end(inHeader: true), .end(inHeader: false)],
            [.arrive(1), .end(inHeader: true), .arrive(1), .end(inHeader: true)],
            [.arrive(1), .end(inHeader: true), .arrive(1), .announce(.map), .end(inHeader: false)],
            [.arrive(2), .other, .announce(.map)],
            [.arrive(2), .end(inHeader: false)],
            [.arrive(1, lost: true), .announce(.map)],
            [.arrive(0, lost: true), .end(inHeader: false)],
            [.announce(.map)],
        ] as [[Step]]
    )
    func `a descriptor that no announcement can have is an error, and none before it`(steps: [Step]) throws {
        var buffers = SharedBuffers(isAccepting: true)
        for step in steps.dropLast() { try take(step, &buffers) }
        let last = try #require(steps.last)
        let error = #expect(throws: TransportError.self) { try take(last, &buffers) }
        #expect(error?.code == .sharedMemory)
    }

    private func take(_ step: Step, _ buffers: inout SharedBuffers) throws {
        switch step {
        case .arrive(let count, let areLost): buffers.arrived(count, areLost: areLost)
        case .announce(let expected):
            let announcement = try buffers.announced(memory)
            #expect(announcement == expected)
        case .other: try buffers.otherMessage()
        case .end(let isInHeader): try buffers.bytesEnded(isInHeader: isInHeader)
        }
    }
}
