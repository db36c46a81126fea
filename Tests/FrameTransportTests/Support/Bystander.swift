import FrameTransport
import TestSupport
import Testing

/// A sender and a receiver that have nothing to do with what happens beside them, and must not notice.
final class Bystander: Sendable {
    private let directory: TemporaryDirectory
    private let server: FrameServer
    private let sender: SocketConnection
    private let receiver: FrameConnection

    init() async throws {
        directory = try TemporaryDirectory()
        server = try directory.server()
        sender = directory.connection { $0.reopens = false }
        try await sender.open(within: nil)
        receiver = try #require(try await firstConnection(of: server))
    }

    /// One more frame goes through, and is the next and whole.
    func exchange(_ index: Int) async throws {
        try await sender.send(FrameMessage(body(index, count: 20_000), sequence: UInt64(index)))
        var frames = receiver.frames.makeAsyncIterator()
        let frame = try #require(
            try await frames.next(),
            "the innocent connection ended: \(receiver.closeReason as Any)"
        )
        #expect(frame.sequence == UInt64(index) && frame.jpeg?.array() == body(index, count: 20_000))
    }
}

/// Runs each test beside a ``Bystander`` whose frames go through before it, while it runs and after it.
struct BesideBystander: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let bystander = try await Bystander()
        let isOver = Flag()
        async let exchanges: Void = {
            for index in 0... {
                let isLast = isOver.isSet
                try await bystander.exchange(index)
                if isLast { return }
                try? await Task.sleep(for: .milliseconds(2))
            }
        }()
        do {
            try await function()
        } catch {
            isOver.set()
            try await exchanges
            throw error
        }
        isOver.set()
        try await exchanges
    }
}

extension Trait where Self == BesideBystander {
    /// Beside a connection that must not notice.
    static var besideBystander: BesideBystander { BesideBystander() }
}
