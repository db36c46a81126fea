import FrameSocketTesting
import FrameWire
import Locking
import TestSupport
import Testing

@testable import FrameTransport

/// What a sender learns of whether the server has read what was sent.
@Suite(.timeLimit(.minutes(5))) struct DeliveryTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Ends a test where the system does not report what is unread.
    private func requireReports(of connection: SocketConnection) throws {
        guard connection.driver.lane.delivery?.backlog == nil else { return }
        try Test.cancel("this system does not report what is unread")
    }

    private static let frame = FrameMessage(body(1, count: 20_000))
    /// Only a server that has said hello is obeyed.
    private static let stop =
        ControlRequest.hello(.init()).encoded() + ControlRequest.stop(.requestedByHost).encoded()
    private static let size = message(body(1, count: 20_000)).count

    /// What a server does with a frame, and how waiting for it ends: nil if without an error.
    enum Server: String, CaseIterable {
        case readsAll, readsAllLater, readsAllAndCloses, readsAllAndStops, stopsUnread
        case readsNothing, readsPart
        case closesUnread, closesHalfRead, endsUnread

        var error: TransportError.Code? {
            switch self {
            case .readsAll, .readsAllLater, .readsAllAndCloses, .readsAllAndStops, .stopsUnread: nil
            case .readsNothing, .readsPart: .sendTimedOut
            case .closesUnread, .closesHalfRead, .endsUnread: .connectionLost
            }
        }

        /// Whether nothing can be read, however long one waits.
        var isIdle: Bool { error == .sendTimedOut }
    }

    /// Shows P119.
    @Test(arguments: Server.allCases, [true, false])
    func `what the server has not read is waited for, or reported`(_ server: Server, reopens: Bool) async throws {
        let (connection, _, peer) = try await directory.openConnection {
            $0.reopens = reopens
            $0.retryInterval = .seconds(60)
            $0.sendTimeout = server.isIdle ? .milliseconds(20) : .seconds(60)
        }
        try requireReports(of: connection)
        let isLater = ![.readsAll, .readsAllAndCloses, .readsNothing, .readsPart].contains(server)
        try await connection.send(Self.frame)
        if server == .closesHalfRead { _ = try await peer.read(Self.size / 2) }
        async let delivered: Void = connection.delivered()
        if isLater { await connection.thread.settle() }
        switch server {
        case .readsAll, .readsAllLater: _ = try await peer.read(Self.size)
        case .readsAllAndCloses:
            _ = try await peer.read(Self.size)
            peer.close()
        case .readsAllAndStops, .stopsUnread:
            if server == .readsAllAndStops { _ = try await peer.read(Self.size) }
            try await peer.write(Self.stop)
            peer.finishWriting()
        case .readsPart: _ = try await peer.read(Self.size / 2)
        case .readsNothing: break
        case .closesUnread, .closesHalfRead: peer.close()
        case .endsUnread: peer.finishWriting()
        }
        do {
            try await delivered
            #expect(server.error == nil)
        } catch {
            #expect((error as? TransportError)?.code == server.error)
        }
    }

    /// When no server is connected, what was sent earlier is not asked about.
    enum Absence: String, CaseIterable {
        case neverOpened, closed, failed
    }

    @Test(arguments: Absence.allCases) func `without a server there is nothing to wait for`(_ absence: Absence)
        async throws
    {
        let connection: SocketConnection
        switch absence {
        case .neverOpened: connection = directory.connection()
        case .closed:
            let (opened, _, peer) = try await directory.openConnection()
            opened.close()
            peer.close()
            _ = try await opened.closed()
            connection = opened
        case .failed:
            let (opened, _, peer) = try await directory.openConnection { $0.reopens = false }
            try await opened.send(Self.frame)
            peer.close()
            _ = try await opened.closed()
            connection = opened
        }
        let error = await #expect(throws: TransportError.self) { try await connection.delivered() }
        #expect(error?.code == (absence == .failed ? .connectionLost : .closed))
    }

    /// Shows P119.
    @Test(arguments: [300, 12_000], [true, false])
    func `a server whose program leaves before it has taken everything lets its sender know, and counts it`(
        size: Int,
        isNumbered: Bool
    ) async throws {
        let byteCount = max(size, FramePadding.minimumBodyByteCount)
        let taken = AsyncStream<Void>.makeStream()
        let isSent = AsyncStream<Void>.makeStream()
        let events = Locked<[TransportEvent]>([])
        let server = try directory.server {
            $0.log = { event in events.withLock { $0.append(event) } }
            // A sender that takes longer to find out would be too slow.
            $0.limits.linger = .seconds(100)
        }
        let connection = directory.connection { $0.reopens = false }
        try await connection.open(within: nil)
        // A sender of frames without numbers finds out by what stays unread.
        if !isNumbered { try requireReports(of: connection) }
        async let running: Void = server.run { connection in
            for try await _ in connection.frames { break }
            taken.continuation.yield()
            for await _ in isSent.stream { break }
            // Another has arrived whole: of a part of one, nothing but the bytes would be counted.
            #expect(await becomesTrue { connection.driver.mailbox.count > 0 })
        }
        // Few enough for a socket to take them before the server reads again, even if it has said once that it is full; of
        // those with numbers, none is left unread.
        for index in 0..<(isNumbered ? 2 : 3) {
            let sequence = isNumbered ? UInt64(index) : nil
            try await connection.send(FrameMessage(body(index, count: size), sequence: sequence))
        }
        for await _ in taken.stream { break }
        isSent.continuation.yield()
        _ = try await connection.closed()
        let error = await #expect(throws: TransportError.self) { try await connection.delivered() }
        #expect(error?.code == .connectionLost)
        #expect(await becomesTrue { server.statistics.connections == 0 })
        #expect(server.statistics.frames == 1)
        #expect(server.statistics.bytes == UInt64(byteCount))
        // The connection is released with the task of its handler.
        #expect(
            await becomesTrue {
                events.withLock { $0.contains { $0.code == .framesDiscarded && $0.connection == 1 } }
            }
        )
        #expect(await becomesTrue { server.statistics.discardedFrames > 0 })
        server.close()
        try await running
    }

    /// Shows P119.
    @Test func `a server whose program has taken everything ends without a complaint`() async throws {
        let server = try directory.server()
        async let running: Void = server.run { connection in
            for try await frame in connection.frames where frame.index == 5 { break }
        }
        let connection = directory.connection { $0.reopens = false }
        try await connection.open(within: nil)
        for index in 0..<6 { try await connection.send(FrameMessage(body(index, count: 3000))) }
        _ = try await connection.closed()
        try await connection.delivered()
        #expect(server.statistics.frames == 6 && server.statistics.discardedFrames == 0)
        server.close()
        try await running
    }

    /// Only then is the pause before the next attempt the shortest.
    ///
    /// Shows P148.
    @Test func `a frame is taken once it has been read, unless the server says that it has discarded it`() async throws
    {
        let (connection, _, peer) = try await directory.openConnection()
        try requireReports(of: connection)
        func hasDelivered(isOrderly: Bool = true) async -> Bool {
            // After everything that has come.
            await connection.thread.settle()
            return await withCheckedContinuation { continuation in
                connection.thread.execute {
                    continuation.resume(returning: connection.driver.hasDelivered(isOrderly: isOrderly))
                }
            }
        }
        #expect(await !hasDelivered())
        try await connection.send(Self.frame)
        #expect(await !hasDelivered())
        _ = try await peer.read(Self.size)
        #expect(await hasDelivered())
        #expect(await !hasDelivered(isOrderly: false))
        try await peer.write(Array("POST /discarded HTTP/1.1\r\nContent-Length: 0\r\n\r\n".utf8))
        #expect(await !hasDelivered())
    }

    @Test func `over a port what was written counts`() async throws {
        let server = try PeerSocket.listening(at: .loopback(port: 0))
        var configuration = SocketConnection.Configuration()
        configuration.tokens = HandshakeTokens(shared: [1])
        let connection = SocketConnection(to: .loopback(port: server.port), configuration: configuration)
        async let opened: Void = connection.open(within: nil)
        let peer = try await server.accepted()
        try await peer.write([1])
        try await opened
        try await connection.send(Self.frame)
        try await connection.delivered()
        _ = peer
    }

    @Test(arguments: [true, false]) func `what waits for the receiver in the socket is known over a path and a port`(
        isPort: Bool
    ) async throws {
        let server = try PeerSocket.listening(at: isPort ? .loopback(port: 0) : .path(directory.socket))
        var configuration = SocketConnection.Configuration()
        configuration.linger = .zero
        if isPort { configuration.tokens = HandshakeTokens(shared: [1]) }
        let endpoint: SocketEndpoint = isPort ? .loopback(port: server.port) : .path(directory.socket)
        let connection = SocketConnection(to: endpoint, configuration: configuration)
        #expect(connection.untakenByteCount == nil)
        async let opened: Void = connection.open(within: nil)
        let peer = try await server.accepted()
        if isPort { try await peer.write([1]) }
        try await opened
        if connection.untakenByteCount == nil { try Test.cancel("this system does not tell what is unread") }
        #expect(await becomesTrue { connection.untakenByteCount == 0 })
        // More than the sockets hold.
        async let sent: Void = connection.send(FrameMessage(body(1, count: 40_000_000)))
        #expect(await becomesTrue { connection.untakenByteCount ?? 0 > 100_000 })
        _ = try await peer.nextMessage(where: \.isFrame)
        try await sent
        #expect(await becomesTrue { connection.untakenByteCount == 0 })
        connection.close()
    }
}
