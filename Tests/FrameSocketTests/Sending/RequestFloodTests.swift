import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// Receivers that ask without end: their own uploader obeys, and others do not notice.
@Suite(.timeLimit(.minutes(5))) struct RequestFloodTests {
    /// Requests that a receiver repeats as fast as it can.
    struct Flood: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let requests: [ControlRequest]
    }

    private static let floods = [
        Flood(testDescription: "refresh", requests: [.refresh]),
        Flood(testDescription: "pause and resume", requests: [.pause, .resume]),
        Flood(
            testDescription: "prefer",
            requests: [
                .prefer(ControlRequest.Preferences(quality: 1)), .prefer(ControlRequest.Preferences(quality: 99)),
            ]
        ),
        Flood(
            testDescription: "hello",
            requests: [.hello(ControlRequest.Hello(wants: [])), .hello(ControlRequest.Hello(wants: .frames))]
        ),
    ]

    @Test(arguments: floods, [false, true])
    func `a flood of requests delays no other uploader, and this uploader ends in an orderly way`(
        flood: Flood,
        reads: Bool
    )
        async throws
    {
        let hostile = try RawReceiver()
        let visit = try await hostile.accept()
        try await visit.ask(.helloForImages)
        hostile.uploader.offer(1)
        let isOver = Flag()
        let socket = visit.socket
        let bytes = Array(repeatElement(flood.requests.flatMap { $0.encoded() }, count: 500).joined())
        let writing = Task { while !isOver.isSet { try await socket.write(bytes) } }
        let reading = reads ? Task { while try await socket.nextMessage() != nil {} } : nil

        let innocent = try RawReceiver()
        let innocentVisit = try await innocent.accept()
        #expect(await becomesTrue { innocent.uploader.hasReceiver })
        let received = try await soon {
            for round in 0..<30 {
                innocent.uploader.offer(round)
                let frame = try await innocentVisit.socket.nextMessage(where: \.isFrame)
                guard frame?.body == body(round, count: 12_000) else { return round }
            }
            return 30
        }
        #expect(received == 30)
        isOver.set()
        hostile.uploader.connection.close()
        socket.finishWriting()
        if !reads { _ = try await soon { try? await socket.messages() } }
        _ = await writing.result
        socket.close()
        _ = await reading?.result
        #expect(try await soon { try await hostile.uploader.connection.closed() } == .closedLocally(.stoppedByUser))
    }
}
