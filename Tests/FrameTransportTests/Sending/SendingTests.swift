import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// What becomes of messages: taken whole, waited for, refused, or lost, and never delivered in part.
@Suite(.timeLimit(.minutes(5))) struct SendingTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// More than a socket's buffer holds, however large systems make it.
    private static let large = body(9, count: 30_000_000)

    /// Shows P2, P16.
    @Test(arguments: [true, false])
    func `a message is written as existing Jitsi senders write it, and padded unless that is turned off`(isPadded: Bool)
        async throws
    {
        let (connection, _, peer) = try await directory.openConnection { $0.padsShortBodies = isPadded }
        for count in [0, 1, 4000, 10_239, 10_240, 70_000] {
            let jpeg = body(count, count: count)
            let padding = isPadded ? max(0, 10_240 - count) : 0
            let expected = message(jpeg + [UInt8](repeating: 0, count: padding))
            // A socket that takes only a part may have no room for more until some of that is read.
            async let sent: Void = connection.send(FrameMessage(jpeg))
            #expect(try await peer.read(expected.count) == expected)
            try await sent
        }
        #expect(peer.isQuiet)
    }

    @Test func `a server that does not read is waited for, and the message continues where it stopped`() async throws {
        let (connection, _, peer) = try await directory.openConnection()
        async let sent: Void = connection.send(FrameMessage(Self.large))
        let expected = message(Self.large)
        // In portions, so that the socket fills again and again.
        var received: [UInt8] = []
        while received.count < expected.count {
            received += try await peer.read(min(3_000_000, expected.count - received.count))
            await connection.thread.settle()
        }
        #expect(Data(received) == Data(expected))
        try await sent
        #expect(peer.isQuiet)
    }

    @Test func `a message being sent is completed even if everybody has released its connection`() async throws {
        let server = try PeerSocket.listening(at: directory.socket)
        let isSent = Flag()
        let peer: PeerSocket
        do {
            let connection = directory.connection()
            try await connection.open(within: nil)
            peer = try await server.accepted()
            try connection.submit(FrameMessage(Self.large)) { result in
                if case .success = result { isSent.set() }
            }
        }
        #expect(try await Data(peer.read(.max)) == Data(message(Self.large)))
        #expect(isSent.isSet)
    }

    @Test func `writing to a server that is gone is an error and not a signal`() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let directory = try TemporaryDirectory()
            let server = try PeerSocket.listening(at: directory.socket)
            var configuration = SocketConnection.Configuration()
            configuration.reopens = false
            let connection = SocketConnection(path: directory.socket, configuration: configuration)
            try await connection.open(within: nil)
            let peer = try await server.accepted()
            // The thread that would notice the end stands still, so that the write meets it first.
            await connection.thread.whileHeld {
                peer.close()
                let error = await #expect(throws: TransportError.self) {
                    try await connection.send(FrameMessage(body(1, count: 20_000)))
                }
                #expect(error?.code == .connectionLost)
                #expect(error?.underlyingErrno == EPIPE)
            }
            #expect(try await connection.closed() == .closedByPeer(.stoppedByUser))
        }
    }
}
